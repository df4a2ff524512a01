"""Documents: office files, sheets, mail, web pages, tables, the layout of PDFs."""

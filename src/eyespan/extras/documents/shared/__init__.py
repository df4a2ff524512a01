"""What several families of documents use: packages, XML, OLE, Markdown, drawings, number formats."""

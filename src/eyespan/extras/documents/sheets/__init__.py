"""Spreadsheets: xlsx, xlsb, xls, ods."""

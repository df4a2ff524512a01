"""Text documents and presentations: OOXML, OpenDocument, RTF."""

"""Text documents and presentations: OOXML, OpenDocument, RTF and the formats from before 2007."""

"""What came of a verb, as rows of text and as JSON: what several verbs share, or would make their module long."""

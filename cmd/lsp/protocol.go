package lsp

// The parts of the Language Server Protocol 3.17 that are used here.

// position is a place in a document: lines from 0, characters as units of UTF-16.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type documentID struct {
	URI string `json:"uri"`
}

// versionedID names a document at a version; null: it is not open.
type versionedID struct {
	URI     string `json:"uri"`
	Version *int   `json:"version"`
}

type initializeParams struct {
	Capabilities struct {
		Workspace struct {
			WorkspaceEdit struct {
				DocumentChanges    bool     `json:"documentChanges"`
				ResourceOperations []string `json:"resourceOperations"`
			} `json:"workspaceEdit"`
			DidChangeWatchedFiles struct {
				DynamicRegistration bool `json:"dynamicRegistration"`
			} `json:"didChangeWatchedFiles"`
		} `json:"workspace"`
	} `json:"capabilities"`
	RootURI          string       `json:"rootUri"`
	WorkspaceFolders []documentID `json:"workspaceFolders"`
}

type openParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type changeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	ContentChanges []struct {
		Range *textRange `json:"range"` // nil: the whole text
		Text  string     `json:"text"`
	} `json:"contentChanges"`
}

// documentParams are those of notifications about a document.
type documentParams struct {
	TextDocument documentID `json:"textDocument"`
}

// placeParams are those of requests about a place in a document.
type placeParams struct {
	TextDocument documentID `json:"textDocument"`
	Position     position   `json:"position"`
	NewName      string     `json:"newName"` // of rename
	Context      struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"` // of references
}

type renameFilesParams struct {
	Files []struct {
		OldURI string `json:"oldUri"`
		NewURI string `json:"newUri"`
	} `json:"files"`
}

type diagnostic struct {
	Range    textRange `json:"range"`
	Severity int       `json:"severity"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
}

// The severities of diagnostics.
const (
	severityError   = 1
	severityWarning = 2
)

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type completionItem struct {
	Label         string   `json:"label"`
	Kind          int      `json:"kind"`
	Detail        string   `json:"detail,omitempty"`
	Documentation string   `json:"documentation,omitempty"`
	SortText      string   `json:"sortText,omitempty"`
	TextEdit      textEdit `json:"textEdit"`
}

// The kinds of completion items.
const (
	completionFunction = 3
	completionVariable = 6
	completionModule   = 9
	completionProperty = 10
	completionValue    = 12
	completionKeyword  = 14
	completionEvent    = 23
	completionConstant = 21
)

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

type hoverResult struct {
	Contents markup    `json:"contents"`
	Range    textRange `json:"range"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type workspaceEdit struct {
	DocumentChanges []any `json:"documentChanges"` // textDocumentEdit or renameFile
}

type textDocumentEdit struct {
	TextDocument versionedID `json:"textDocument"`
	Edits        []textEdit  `json:"edits"`
}

type renameFile struct {
	Kind   string `json:"kind"` // rename
	OldURI string `json:"oldUri"`
	NewURI string `json:"newUri"`
}

type prepareResult struct {
	Range       textRange `json:"range"`
	Placeholder string    `json:"placeholder"`
}

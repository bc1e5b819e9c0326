package process

import "errors"

// collapseHeap fails: this system has no huge pages that a process can ask for.
func collapseHeap() error { return errors.ErrUnsupported }

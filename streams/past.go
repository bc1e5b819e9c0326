package streams

import "context"

// Past is what became of a tree that may have been begun before.
type Past struct {
	Attempts int  // how often it was begun
	Over     bool // it ended, or stands where any node goes on with it
	Running  bool // a node that is there may still run it
}

// Surely asks what became of a tree, and once more when everything is known that any node
// wrote: one that is not there any more may have ended it before it went.
func Surely(ctx context.Context, fresh func(context.Context) error, ask func() (Past, error)) (Past, error) {
	past, err := ask()
	if err != nil || past.Over || past.Running {
		return past, err
	}
	if err := fresh(ctx); err != nil {
		return past, err
	}
	return ask()
}

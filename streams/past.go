package streams

// Past is what became of a tree that may have been begun before.
type Past struct {
	Attempts int  // how often it was begun
	Over     bool // it ended, or stands where any node goes on with it
	Running  bool // a node that is there may still run it
}

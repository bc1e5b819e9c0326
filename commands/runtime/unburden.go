package runtime

// maxBufferedEvents are gathered when a tree makes them faster than the log takes them: it waits
// until they are there.
const maxBufferedEvents = 1000

// flushIfFull appends what is gathered once it is much, of a tree that is not at its end. One
// that goes on at once is announced, since it may take long.
func (t *run) flushIfFull(yielded bool) error {
	gathered := t.journal.buffered()
	if gathered > flushEvents || yielded {
		t.recordStart()
	}
	switch {
	case gathered > maxBufferedEvents:
		_, err := t.journal.append(t.ctx)
		return err
	case gathered > flushEvents:
		t.journal.appendInBackground(t.ctx)
	}
	return nil
}

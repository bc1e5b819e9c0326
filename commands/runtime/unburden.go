package runtime

// tooManyEvents are gathered when a tree makes them faster than the log takes them: it waits
// until they are there.
const tooManyEvents = 1000

// unburden appends what is gathered once it is much, of a tree that is not at its end. One
// that goes on at once is announced, since it may take long.
func (t *tree) unburden(yielded bool) error {
	gathered := t.journal.gathered()
	if gathered > manyEvents || yielded {
		t.announce()
	}
	switch {
	case gathered > tooManyEvents:
		_, err := t.journal.append(t.ctx)
		return err
	case gathered > manyEvents:
		t.journal.appendEarly(t.ctx)
	}
	return nil
}

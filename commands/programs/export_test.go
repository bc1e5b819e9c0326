package programs

// Keeping returns options of a library that keeps as many bytes, roughly, in each cache.
func (o Options) Keeping(bytes uint64) Options {
	o.cacheBytes = bytes
	return o
}

// Keeps returns how much is kept of houses, editions, documents and contents.
func (l *Library) Keeps() [4]uint64 {
	return [4]uint64{l.programSets.Weight(), l.compiledContents.Weight(), l.documents.Weight(), l.workspaceValues.Weight()}
}

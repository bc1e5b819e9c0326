package programs

// Keeping returns options of a library whose caches hold that many bytes, roughly.
func (o Options) Keeping(bytes uint64) Options {
	o.cacheBytes = bytes
	return o
}

// Keeps returns the sizes of the caches: program sets, contents, documents and values.
func (l *Library) Keeps() [4]uint64 {
	return [4]uint64{l.programSets.Weight(), l.compiledContents.Weight(), l.documents.Weight(), l.workspaceValues.Weight()}
}

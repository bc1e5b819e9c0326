// Package document holds what the files of a workspace say: values that keep the
// order of their keys, and the one way to write them, so that the same content is
// always the same bytes (contract/versioning.md 4.2).
//
// A value is nil, a bool, a float64, a string, a []any of values or a *Map of
// them. Nothing else: a number is what JSON calls a number, and an int or a
// map[string]any is a mistake of the caller that writing reports.
//
// JSON is read and written here. Of YAML only what was written here is read here:
// reading all of it takes a library, and rules use none; commands/yamltext reads it
// into the same values.
package document

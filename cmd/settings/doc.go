// Package settings is the registry of everything an operator can set.
//
// One table declares each setting: name, type, unit, default, bounds, part,
// secret or not, live or needing a restart, meaning. From it come the parser,
// the validation, the printed forms and docs/config.md. No other code reads the
// environment.
//
// Load turns a Source into a Loaded, or into Faults that name every bad setting
// at once. Loading creates nothing: EnsureKeys makes the keys of a first start,
// and only Live changes settings while the process runs.
package settings

// Package merge merges two changes of one file: line by line, as git does (Text), and
// where lines conflict key by key (Keys), as contract/versioning.md 10 says. Every
// conflict is reported.
package merge

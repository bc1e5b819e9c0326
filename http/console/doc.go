// Package console serves the web console from the binary: one page for every path below
// /console/, and the scripts, styles and other files that it loads. The sources are in
// web, `make web` builds dist of them.
package console

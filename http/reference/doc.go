// Package reference serves the API reference page from the binary: a small
// page, a small script, and the viewer they start. Nothing is asked of another
// host, and the page's policy lets the browser refuse to.
package reference

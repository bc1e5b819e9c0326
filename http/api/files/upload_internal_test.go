package files

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTypesAreToldByTheBytes(t *testing.T) {
	t.Parallel()
	zip := func(first string) string { return "PK\x03\x04" + strings.Repeat("\x00", 26) + first }
	const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for _, test := range []struct{ head, declared, want string }{
		{"", "", "text/plain"},
		{"hello", "", "text/plain"},
		{"a,b", "text/csv", "text/csv"},
		{"{}", "application/json; charset=utf-8", "application/json"},
		{"{}", "Application/JSON", "application/json"},
		{"# a", "text/markdown", "text/markdown"},
		{"x", "image/png", "text/plain"},
		{"x", "application/pdf", "text/plain"},
		{"x", "audio/mpeg", "text/plain"},
		{"x", "application/octet-stream", "text/plain"},
		{"x", "image/svg+xml", "text/plain"},
		{"x", "text/html", "text/html"},
		{"x", "no type", "text/plain"},
		{"x", "text/\x00", "text/plain"},
		{"<svg>", "image/svg+xml", "image/svg+xml"},
		{"<?xml ?><svg>", "image/svg+xml", "image/svg+xml"},
		{"<?xml ?><html>", "image/svg+xml", "text/xml"},
		{"<?xml ?><feed>", "application/atom+xml", "application/atom+xml"},
		{"<?xml ?>", "image/png", "text/xml"},
		{"<html>", "image/svg+xml", "text/html"},
		{"<script>", "image/png", "text/html"},
		{"\x89PNG\r\n\x1a\n", "text/html", "image/png"},
		{"\x00\x01", "image/png", "application/octet-stream"},
		{"\x00\x01", "text/html", "application/octet-stream"},
		{"\x00\x01", "image/svg+xml", "application/octet-stream"},
		{"\x00\x01", "image/heic", "image/heic"},
		{"\xff\xfb\x90\x00", "audio/mpeg", "audio/mpeg"},
		{"\x00\x01", "", "application/octet-stream"},
		{zip("a.txt"), "image/png", "application/zip"},
		{zip("a.txt"), docx, "application/zip"},
		{zip("[Content_Types].xml"), docx, docx},
		{zip("[Content_Types].xml"), "image/png", "application/zip"},
		{zip("mimetypeapplication/epub+zip"), "application/epub+zip", "application/epub+zip"},
		{zip("mimetypeapplication/epub+zip"), "text/html", "application/zip"},
		{"PK\x03\x04", docx, "application/zip"},
	} {
		require.Equal(t, test.want, mimetypeOf([]byte(test.head), test.declared), "%q as %q", test.head, test.declared)
	}
}

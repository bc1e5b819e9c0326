// Package archive turns the content of a workspace into files and files into
// content (contract/versioning.md 4, 5 and 17). A Tree is the files of one
// workspace by path: from a zip, a directory or a commit, all the same. Nothing
// here asks the log, and nothing trusts a source: what could leave its folder, be
// taken for another file or fill the memory refuses the whole of it, while a file
// that is merely wrong is an Item beside the files that are right.
package archive

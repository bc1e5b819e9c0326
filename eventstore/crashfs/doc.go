// Package crashfs is a file system that lets a test cut the power at any moment.
//
// Mount puts a recording FUSE file system over a directory. Everything passes
// through to that directory, and every change (create, write, truncate, rename,
// unlink, fsync, …) also enters one ordered log in memory. Image then writes,
// for any position in that log, what a disk could hold had the power failed
// there: bytes and names that no fsync covered are lost, torn or reordered, by
// a seed. What the backing directory held at mount time counts as durable.
//
// # What is promised durable
//
// An fsync or fdatasync of a file covers its content and size, and nothing
// else. A name (create, mkdir, link, symlink, unlink, rmdir, rename) is covered
// by an fsync of the directory that holds it; a rename between directories
// counts as one change, covered by an fsync of its destination. A file whose
// name is not durable does not exist, however often it was synced. A write
// through a descriptor opened with O_SYNC or O_DSYNC is a write and an fsync.
// Permissions, owners and times pass through and are never lost.
//
// # What is refused
//
// Files are opened with direct I/O and nothing is written back later, so each
// write(2) is in the log before it returns. Whatever could change a file unseen
// is refused: a shared mmap (ENODEV), fallocate, copy_file_range (callers fall
// back to a copy), rename with RENAME_EXCHANGE, device nodes, sockets, O_TMPFILE.
// sync(2) and syncfs(2) do not reach a FUSE server: they protect nothing here.
//
// # Who may touch the mount
//
// The process that called Mount answers for the mount. A system call on it from
// the same process waits for a goroutine of that process: ordinary os calls from
// ordinary goroutines are safe, since the runtime hands their processor over. An
// exec whose binary, directory or open files are on the mount is not, because
// fork holds locks that the server may need; neither is a raw system call that
// blocks. Write from a child process; read the backing directory instead of the
// mount.
package crashfs

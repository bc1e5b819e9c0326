// Package merge brings two changes of one file together: line by line, as git
// does (Text), and where lines collide key by key (Keys), as
// contract/versioning.md 10 says. What a change conflicts with is told, never
// guessed.
//
// Of several shortest differences between two texts, git takes one that follows
// from the order in which it searches, and which one it is decides what a merge
// gives. So the search here makes the same choices: the same lines left out, the
// same ties, the same moment to give up. domain/textdiff, which is for readers,
// is free to choose better ones.
package merge

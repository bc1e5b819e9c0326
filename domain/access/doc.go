// Package access decides who may do what in a workspace. It is the one
// evaluator behind "may they", "why" and "which".
//
// A workspace's security document is compiled once into a Policy: its rules and
// the built-in ones, each limited to the objects of that workspace, in the order
// in which they count. For each caller the rules that bind them are picked
// (Workspace.For), and the last of these that matches an object decides. Nothing
// matches: denied. Built-in rights, sharing and API keys are rules like any
// other, so that an explanation is the list of rules that matched.
//
// # Being in a workspace
//
// Some rights are everyone's in any workspace: the built-in ones, and those of
// rules without a role. If they counted, nobody would ever be a stranger and an
// answer would tell whether a workspace exists. So a caller is in a workspace
// (Rights.IsMember) when they may read it, or when a rule that binds them in
// particular allows something: by a role, by a share with them or with a role of
// theirs, by an API key, as a super admin. All others are strangers, and what
// they are refused looks the same as where there is no workspace (OutsideRights).
//
// # Bounded effort
//
// Anyone may own a workspace and write its rules, so no rule may cost much. A
// document is bounded when it is compiled; a decision is bounded by steps, which
// all the rules that it takes share, and so is finding the roles that a caller
// has by themselves. A rule for which no steps are left cannot be judged and
// counts against the caller: it does not allow, and if it denies, it does. A role
// that cannot be judged gives nothing, and its denials bind.
package access

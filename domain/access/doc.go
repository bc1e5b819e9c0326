// Package access decides who may do what in a workspace. One evaluator answers whether a
// caller may do something, why, and to which objects.
//
// The security document of a workspace is compiled once into a Policy: its rules and the
// built-in ones, each limited to the objects of that workspace, ordered by precedence. For
// each caller the rules that apply to them are selected (Workspace.For), and the last of
// these that matches an object decides. Without a match the request is denied. Built-in
// rights, shares and API keys are rules like any other, so that an explanation is the list
// of rules that matched.
//
// # Being in a workspace
//
// Everyone has some rights in any workspace: the built-in ones, and those of rules without
// a role. If they counted, everyone would be in every workspace, and an answer would
// reveal whether a workspace exists. So a caller is in a workspace (Rights.IsMember) when
// they may read it, or when a rule for them in particular allows something: by a role, by a
// share with them or with a role of theirs, by an API key, as a super admin. For all
// others, a refusal looks the same as that of a workspace that does not exist
// (OutsideRights).
//
// # Bounded effort
//
// Anyone may own a workspace and write its rules, so no rule may cost much. The size of a
// document is limited when it is compiled. A decision has a budget of steps for all its
// rules, and so has finding the roles that a caller has automatically. A rule without steps
// left is unknown and counts against the caller: it does not allow, and if it denies, it
// does. An unknown role gives nothing, and its denials apply.
package access

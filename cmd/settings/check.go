package settings

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// crossCheck finds settings that do not go together.
func (a *assembler) crossCheck() {
	a.checkVersioning()
	a.checkAuth()
	a.checkPairs()
	a.checkBroker()
	a.checkCluster()
	a.checkMail()
	a.checkModels()
	a.checkRepositories()
	a.checkStartupImport()
}

// requireThat is a fault of name unless ok holds, or one of the settings it compares
// has a fault already.
func (a *assembler) requireThat(ok bool, want, name string, others ...string) {
	if ok || a.hasFault(append(others, name)...) {
		return
	}
	a.faults = append(a.faults, Fault{name, a.displayedValue(name), want})
}

// requireGiven demands that name is given: a default does not do.
func (a *assembler) requireGiven(want, name string, others ...string) {
	if !a.isGiven(name) && !a.hasFault(append(others, name)...) {
		a.faults = append(a.faults, Fault{Name: name, Expected: want})
	}
}

func (a *assembler) checkVersioning() {
	w, r := a.Config.Workspaces, a.Config.Runtime
	a.requireThat(w.LockTimeout > w.OperationTimeout,
		"more than VERSIONING_OPERATION_TIMEOUT_MINUTES ("+showDuration(w.OperationTimeout)+"): a lock must outlive its operation",
		"WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES", "VERSIONING_OPERATION_TIMEOUT_MINUTES")
	a.requireThat(r.WaitDefaultTimeout <= r.WaitMaxTimeout,
		"at most WAIT_MAX_TIMEOUT ("+showDuration(r.WaitMaxTimeout)+")",
		"WAIT_DEFAULT_TIMEOUT", "WAIT_MAX_TIMEOUT")
}

func (a *assembler) checkAuth() {
	c := a.Config.Auth
	family := "RSA"
	if strings.HasPrefix(c.JWKSAlg, "ES") {
		family = "EC"
	}
	a.requireThat(c.JWKSKty == family, family+", the key family of JWKS_ALG "+c.JWKSAlg, "JWKS_KTY", "JWKS_ALG")
	a.requireThat(c.AdminPassword == "" || c.PasswordPattern.MatchString(c.AdminPassword.Reveal()),
		"a password that PASSWORD_VALIDATION_REGEXP accepts", "ADMIN_PASSWORD", "PASSWORD_VALIDATION_REGEXP")
}

// checkPairs demands that settings which need each other come together.
func (a *assembler) checkPairs() {
	for _, pair := range [][2]string{
		{"TLS_CERT_FILE", "TLS_KEY_FILE"},
		{"NATS_TLS_CERT_FILE", "NATS_TLS_KEY_FILE"},
		{"NATS_CLUSTER_TLS_CERT_FILE", "NATS_CLUSTER_TLS_KEY_FILE"},
		{"NATS_CLUSTER_LISTEN", "NATS_CLUSTER_ROUTES"},
		{"SMTP_USER", "SMTP_PASS"},
	} {
		for i, name := range pair {
			other := pair[1-i]
			a.requireThat(a.isGiven(name) || !a.isGiven(other), "a value, as "+other+" is given", name, other)
		}
	}
}

func (a *assembler) isGiven(name string) bool {
	_, ok := a.given[name]
	return ok
}

func (a *assembler) checkBroker() {
	b := a.Config.Broker
	a.requireThat(b.Embedded || len(b.URLs) > 0, "yes, or NATS_URL to be given", "NATS_EMBEDDED", "NATS_URL")
	a.requireThat(!b.Embedded || len(b.URLs) == 0, "no value, as NATS_EMBEDDED is on", "NATS_URL", "NATS_EMBEDDED")
	for _, name := range []string{"NATS_LISTEN", "NATS_CLUSTER_LISTEN"} {
		a.requireThat(b.Embedded || !a.isGiven(name), "no value, as the broker is external (NATS_EMBEDDED no)", name, "NATS_EMBEDDED", "NATS_URL")
	}
}

// checkCluster checks the settings that only a cluster needs.
func (a *assembler) checkCluster() {
	b := a.Config.Broker
	if nodes := 1 + len(b.ClusterRoutes); b.Embedded {
		a.requireThat(b.StreamReplicas <= nodes, fmt.Sprintf("at most the number of nodes (%d)", nodes),
			"STREAM_REPLICAS", "NATS_CLUSTER_ROUTES", "NATS_CLUSTER_LISTEN", "NATS_EMBEDDED")
	}
	if slices.ContainsFunc(b.ClusterRoutes, isRemoteURL) {
		for _, name := range []string{"NATS_CLUSTER_TLS_CERT_FILE", "NATS_CLUSTER_TLS_KEY_FILE", "NATS_CLUSTER_TLS_CA_FILE"} {
			a.requireThat(a.isGiven(name), "a path, as NATS_CLUSTER_ROUTES leave the host", name)
		}
	}
	if !b.Single() {
		const want = "a value: with a cluster or an external broker no key is generated"
		a.requireGiven(want, "SECRETS_MASTER_KEYS", "NATS_EMBEDDED", "NATS_URL")
		a.requireGiven(want, "INTERNAL_API_KEY", "NATS_EMBEDDED", "NATS_URL")
	}
}

func isRemoteURL(route URL) bool {
	u, err := url.Parse(route.Reveal())
	if err != nil || u.Hostname() == "localhost" {
		return err != nil
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err != nil || !addr.IsLoopback()
}

func (a *assembler) checkMail() {
	m := a.Config.Mail
	a.requireThat(m.Host == "" || m.From != "", "a mail address, as SMTP_HOST is given", "EMAIL_FROM", "SMTP_HOST")
	a.requireThat(a.Config.Auth.AccountValidation != "email" || m.Host != "", "auto or manual, or SMTP_HOST to be given", "ACCOUNT_VALIDATION_METHOD", "SMTP_HOST")
}

func (a *assembler) checkModels() {
	for _, name := range []string{"LLM_BASE_URL", "LLM_API_KEY", "LLM_MODEL", "LLM_EMBEDDING_MODEL"} {
		a.requireThat(!a.isGiven(name) || !a.isGiven("MODELS_CONFIG"), "no value, as MODELS_CONFIG is given", name, "MODELS_CONFIG")
	}
	a.requireThat(a.isGiven("LLM_BASE_URL") || !a.isGiven("LLM_API_KEY") && !a.isGiven("LLM_MODEL") && !a.isGiven("LLM_EMBEDDING_MODEL"),
		"a URL, as other LLM_ settings are given", "LLM_BASE_URL", "MODELS_CONFIG")
}

// checkStartupImport demands both settings or none, and a repository to read.
func (a *assembler) checkStartupImport() {
	b := a.Config.Bulk
	const groups, repository = "STARTUP_IMPORT_GROUPS", "STARTUP_IMPORT_REPOSITORY"
	a.requireThat(len(b.StartupGroups) > 0 || b.StartupRepo == "", "groups, as "+repository+" is given", groups, repository)
	a.requireThat(b.StartupRepo != "" || len(b.StartupGroups) == 0, "a platform repository, as "+groups+" is given", repository, groups)
	_, exists := b.Repositories[b.StartupRepo]
	a.requireThat(b.StartupRepo == "" || exists, "the id of a platform repository: "+listRepositoryIDs(b.Repositories), repository)
}

// listRepositoryIDs lists the ids of the repositories.
func listRepositoryIDs(repos map[string]PlatformRepository) string {
	if len(repos) == 0 {
		return "none is configured"
	}
	return strings.Join(slices.Sorted(maps.Keys(repos)), ", ")
}

// checkRepositories demands of each platform repository what its type needs.
func (a *assembler) checkRepositories() {
	for _, id := range slices.Sorted(maps.Keys(a.Config.Bulk.Repositories)) {
		repo := a.Config.Bulk.Repositories[id].moveCredentials()
		a.Config.Bulk.Repositories[id] = repo
		if repo.Type == "filesystem" {
			a.checkDirectory(repo)
		} else {
			a.checkRemote(repo)
		}
	}
}

// repositoryVariable is the full name of a field of repo.
func repositoryVariable(repo PlatformRepository, name string) string {
	return "WORKSPACES_STORAGE_GIT_PLATFORM_" + repo.ID + "_" + name
}

func (a *assembler) checkDirectory(repo PlatformRepository) {
	dir := repositoryVariable(repo, "DIRPATH")
	a.requireThat(filepath.IsAbs(repo.Dirpath), "an absolute path, as the type is filesystem", dir, repositoryVariable(repo, "TYPE"))
	info, err := a.context.stat(repo.Dirpath)
	a.requireThat(err == nil && info.IsDir(), "an existing directory", dir, repositoryVariable(repo, "TYPE"))
}

func (a *assembler) checkRemote(repo PlatformRepository) {
	address := repositoryVariable(repo, "URL")
	a.requireThat(repo.URL != "", "a URL, as the type is git", address, repositoryVariable(repo, "TYPE"))
	a.requireThat(repo.Auth.Password == "" || isHTTP(repo.URL.Reveal()), "no value, or an http(s) URL: passwords are for those", repositoryVariable(repo, "AUTH_PASSWORD"), address)
	a.requireThat(repo.Auth.SSHKey == "" || isSSH(repo.URL.Reveal()), "no value, or an SSH URL: keys are for those", repositoryVariable(repo, "AUTH_SSHKEY"), address)
	a.requireThat(repo.Auth.Passphrase == "" || repo.Auth.SSHKey != "", "no value, or AUTH_SSHKEY to be given", repositoryVariable(repo, "AUTH_PASSPHRASE"), repositoryVariable(repo, "AUTH_SSHKEY"))
	a.requireThat(repo.Dirpath == "" || cleanPath(repo.Dirpath), "a relative path without ., .. and .git", repositoryVariable(repo, "DIRPATH"))
}

// cleanPath reports whether a relative path stays inside its repository.
func cleanPath(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if slices.Contains([]string{"", ".", ".."}, segment) || strings.EqualFold(segment, ".git") {
			return false
		}
	}
	return true
}

// Made by scripts/api-types.mjs from http/api/openapi.yaml. Do not edit.
export interface paths {
    "/sys/healthcheck": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tell that the process is alive, under its other name */
        get: operations["getSystemHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Test the services
         * @description Tests run side by side, two seconds each. The result is kept for `READINESS_CACHE_TTL_MS` per set of services.
         *     The services but `api-gateway` are asked over HTTP, at their `url` + `/readiness`. `searchengine` and `crawler` are not
         *     part of this version: named they are `error`, or left out with `DISABLED_SERVICES`.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/runtime/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Test the modules of the runtime service */
        get: operations["getRuntimeReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/events/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Test the modules of the events service */
        get: operations["getEventsReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Test the modules of the workspaces service */
        get: operations["getWorkspacesReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/searchengine/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Test the modules of the search engine */
        get: operations["getSearchengineReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/crawler/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Test the modules of the crawler */
        get: operations["getCrawlerReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the effective settings
         * @description Secrets are masked. The same as `svc config --json`.
         */
        get: operations["getConfig"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/logging": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change the log level
         * @description At once, on this node, until it restarts or its settings are read again.
         */
        put: operations["setLogging"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/readmodels/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rebuild the read models
         * @description From the beginning of the logs, beside those that serve; they are replaced at once when the new ones are
         *     complete. It takes as long as it takes: there is no request timeout. It is broken off, and changes nothing,
         *     when the client leaves. One rebuild or verification runs at a time on a node.
         */
        post: operations["rebuildReadModels"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/search/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rebuild the search index of knowledge bases
         * @description From stored texts, beside the index that serves; nothing is loaded or extracted again. There is no request
         *     timeout. One rebuild or verification runs at a time on a node.
         */
        post: operations["rebuildSearchIndex"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/readmodels/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify the read models
         * @description Builds a second copy from the logs and compares it with the one that serves, byte by byte; and reads the state
         *     log for gaps. Differences are in the report, which is 200 all the same. There is no request timeout. One
         *     rebuild or verification runs at a time on a node.
         */
        post: operations["verifyReadModels"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/jwks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the signing keys */
        get: operations["listSigningKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/jwks/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let the next key sign */
        post: operations["rotateSigningKeys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/jwks/{kid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a signing key
         * @description At once and on all nodes; its tokens are `invalid_token`. The signing key is replaced first.
         */
        delete: operations["revokeSigningKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/login/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the ways to sign in */
        get: operations["listLoginProviders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/login/anonymous": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in as a visitor
         * @description No body is needed. Rate limit `anonymousLogin`, 60 per minute and address.
         */
        post: operations["loginAnonymously"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Go to an identity provider
         * @description A browser is sent to the provider, which sends it back to `/v2/login/callback`.
         */
        get: operations["startProviderLogin"];
        put?: never;
        /**
         * Sign in with a password
         * @description 401 `invalid_credentials` is the answer to a wrong address and to a wrong password alike. Its reason `mfa_required` asks for `totp`; `email_not_validated` and `manual_validation` are told after the right password only. Rate limit `login`: 5 per minute for one address of mail from one IP, 50 for one address from all devices and IPs that are not known, 20 from each known one. A device is known for 30 days after signing in, by the cookie `svc-device` that the answer sets; so is the IP for that address. Codes: 5 per minute and account.
         */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/login/mfa": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show the second factor
         * @description For a session that was opened without it. Rate limit `login`, 5 per minute and address of mail, with other sign-ins.
         */
        post: operations["loginSecondFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/login/token-exchange": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in with the token of a provider
         * @description For providers that allow it. Rate limit `tokenExchange`, 60 per minute and address.
         */
        post: operations["exchangeToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description Ends the session and clears the cookie. An access token is not touched.
         */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read who is signed in */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/signup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make an account
         * @description Rate limit `signup`, 10 per minute and address.
         */
        post: operations["signup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset or change a password
         * @description `{email}` asks for a mail with a link, and always succeeds. `{token, password}` uses the link. `{currentPassword, password}` needs a session and ends the others. It is counted for the rate limit `login` too. Rate limit `passwordReset`, 5 per minute and address.
         */
        post: operations["changePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Prove a mail address
         * @description `{email}` asks for the mail again, and always succeeds; `{token}` uses its link. Rate limit `passwordReset`.
         */
        post: operations["validateUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete one's account
         * @description Sessions and access tokens end at once; workspaces stay. The password is counted for the rate limit `login`.
         */
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        /** Change one's profile */
        patch: operations["updateUser"];
        trace?: never;
    };
    "/v2/user/photo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload one's picture
         * @description PNG, JPEG, GIF or WebP of at most 4 MB.
         */
        post: operations["setPhoto"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/users/{userId}/photo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Load the picture of a user
         * @description The address is that of `photo` of the user. A new picture has a new one: each may be kept for ever.
         */
        get: operations["getPhoto"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/meta": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add to one's own data */
        post: operations["mergeUserMeta"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/meta/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove from one's own data
         * @description A key that is not there is gone already.
         */
        delete: operations["deleteUserMeta"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/mfa": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set up the second factor
         * @description `{method: totp, currentPassword}` answers a secret, which `{totp}` confirms; `{method: none, currentPassword}` removes it. The password is needed from who has one. Tries are counted for the rate limit `login`. A replay leaves out the secret.
         */
        post: operations["setMfa"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/accessTokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List one's access tokens */
        get: operations["listAccessTokens"];
        put?: never;
        /**
         * Make an access token
         * @description The value is shown once.
         */
        post: operations["createAccessToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/accessTokens/{idOrToken}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke an access token */
        delete: operations["deleteAccessToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List one's sessions */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/user/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End one of one's sessions */
        delete: operations["endSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/contacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find people
         * @description Who is not a super admin finds people by their exact mail address or by id only, and does not see the fields after `groups`. Visitors find nobody.
         */
        post: operations["findContacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the users
         * @description Those who were changed last first. `search` finds words in names and the address.
         */
        get: operations["listUsers"];
        put?: never;
        /**
         * Make or invite a user
         * @description Without a password the user is invited by mail, where mail is sent. The account is valid at once; its address counts as proven once its owner has followed a link.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/users/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a user */
        delete: operations["removeUser"];
        options?: never;
        head?: never;
        /**
         * Change a user
         * @description Super admins change everybody; others only themselves, and only `firstName, lastName, meta, photo, language`. A new password, and a status that is not `validated`, end the sessions.
         */
        patch: operations["patchUser"];
        trace?: never;
    };
    "/v2/users/{userId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the sessions of a user */
        get: operations["listUserSessions"];
        put?: never;
        post?: never;
        /** End the sessions of a user */
        delete: operations["endUserSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/admins/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Prove an address by having the host
         * @description For `svc admin claim`, from the host itself only. The account of the address is valid from then on; a password that was made is shown once.
         */
        post: operations["claimAdmin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/login/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Come back from an identity provider */
        get: operations["finishProviderLogin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workspaces
         * @description Those that the caller may read; the last updated first. An API key lists its workspace, if it may read it.
         */
        get: operations["listWorkspaces"];
        put?: never;
        /**
         * Create a workspace
         * @description The caller becomes its owner. Rate limit `createWorkspace`, 60 per minute.
         */
        post: operations["createWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        /**
         * Read a workspace
         * @description `version`, `at` or `atSeq` give its content as it was then, without what belongs to now: `can`, `writeLock`,
         *     who changed it last.
         */
        get: operations["getWorkspace"];
        put?: never;
        post?: never;
        /**
         * Delete a workspace
         * @description It vanishes at once, frees its slug, and can be brought back for EVENTS_SCHEDULED_DELETION_DAYS. `platform` is
         *     protected (409).
         */
        delete: operations["deleteWorkspace"];
        options?: never;
        head?: never;
        /**
         * Change a workspace
         * @description Fields that are not named stay as they are; `null` removes an optional one. A change that changes nothing
         *     records no event.
         */
        patch: operations["updateWorkspace"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/security": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the security document */
        get: operations["getSecurity"];
        /** Replace the security document */
        put: operations["putSecurity"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/security/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the roles */
        get: operations["listRoles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/security/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain who may do what */
        get: operations["explainAccess"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/security/apikeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the API keys */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Make an API key
         * @description The value is shown once. Nobody can grant through a key what they do not hold.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/security/apikeys/{idOrValue}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change an API key
         * @description The value stays the same.
         */
        put: operations["updateApiKey"];
        post?: never;
        /** Revoke an API key */
        delete: operations["deleteApiKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List with whom a workspace is shared */
        get: operations["listShares"];
        put?: never;
        /**
         * Share a workspace
         * @description Replaces the entry of the target.
         */
        post: operations["share"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/permissions/{target}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Stop sharing a workspace
         * @description The target is a user id, `*` for everyone, or `role:{name}`.
         */
        delete: operations["unshare"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/collections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the collections
         * @description Those of the workspace, then those of its app instances, that the caller may read.
         */
        get: operations["listCollections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/collections/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a collection and its rows */
        delete: operations["deleteCollection"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/collections/{name}/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the declaration of a collection
         * @description `declared: false` says that nothing is declared: such a collection keeps every field.
         */
        get: operations["getCollectionSchema"];
        /**
         * Declare a collection
         * @description Makes the collection when there is none; `oldCollection` and `oldSchema` rename one. Rows that do not fit what is declared, and cannot be converted without a loss, refuse it with 422, and nothing changes; two rows with the same values of a unique with 409. Recorded as `workspaces.collections.updated`. `dryRun` changes nothing and tells what would refuse it.
         */
        put: operations["putCollectionSchema"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/collections/{name}/rows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List rows, or export all of them
         * @description As `application/json` a page. As `text/csv` or `application/x-ndjson` without `page` and `limit`: all rows that meet the query, as they are at one moment, in the order of `sort` or else of their ids. What they are sorted by is held in memory: beyond 64 MB of it (some 400,000 rows) a sorted export is refused before its first row, one without `sort` never is. In a table, lists and objects are JSON, null is empty, and a text that a spreadsheet would compute has an apostrophe in front, which an import takes away again.
         */
        get: operations["listRows"];
        put?: never;
        /**
         * Create a row
         * @description Makes the collection when there is none. Fields that are not declared are not stored, and named in `droppedFields`. A row with the same id, or the same values of a unique, is 409.
         */
        post: operations["createRow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/collections/{name}/rows/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a row */
        get: operations["getRow"];
        put?: never;
        post?: never;
        /** Delete a row */
        delete: operations["deleteRow"];
        options?: never;
        head?: never;
        /**
         * Change a row
         * @description Merges the fields of the body; `null` removes one.
         */
        patch: operations["updateRow"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/collections/{name}/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Find or aggregate rows
         * @description The parameters of `findMany` and `aggregate` of the module collections. `aggregate` does not go with `sort`, `fields`, `limit` and `skip`. A condition that is none is 422.
         */
        post: operations["queryRows"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/collections/{name}/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import rows from a file
         * @description A table whose first line names the fields, rows in lines, or a list of rows; at most `IMPORT_MAX_SIZE`. Lines that do not fit are left out and told in `errors`, the others are written, `COLLECTIONS_MAX_WRITE` rows (and 4 MB) at a time, each batch whole or not at all. With `onConflictFields` (which needs the right to update) rows that have the same values there are changed. `dryRun` changes nothing and tells what would become of the lines.
         */
        post: operations["importRows"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/contexts/global": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the global context
         * @description Without secrets: their values are `REDACTED`. A context that nobody has written is empty.
         */
        get: operations["getGlobalContext"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/contexts/user/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the context of a user
         * @description Without secrets: their values are `REDACTED`. A context that nobody has written is empty.
         */
        get: operations["getUserContext"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/contexts/session/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the context of a session
         * @description Without secrets: their values are `REDACTED`. A context that nobody has written is empty.
         */
        get: operations["getSessionContext"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List files
         * @description Only those that the caller may read. Besides the parameters named here, any field of a file may be asked for by its
         *     value: `mimetype=image/png`, `metadata.team=web`. An unknown one is 400. Without `sort`, the last changed first.
         */
        get: operations["listFiles"];
        put?: never;
        /**
         * Upload files
         * @description A form with one or more files under any names; a text field that holds a data URI is one too. All of them are stored,
         *     or none. At most 50 parts, `UPLOADS_MAX_SIZE` for each file (413 with `details {length, limit}`), 1 MB for each text.
         *     The type is told by the bytes: what is declared counts only where they say nothing. A type that the settings leave
         *     out is 422 with the reason `mimetype_not_allowed`. All files of a workspace have `WORKSPACE_FILES_MAX_BYTES` together:
         *     above it 429 `quota_exceeded` with `details {limit, used, size}`. Files of visitors, who have no role in the workspace and
         *     whom a rule lets upload, are private: `public` and `shareToken` are 403 for them.
         */
        post: operations["uploadFiles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/files/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what is known of a file */
        get: operations["getFile"];
        /**
         * Replace the content of a file
         * @description The id and the address stay the same, and so does the name.
         */
        put: operations["replaceFile"];
        post?: never;
        /** Delete a file */
        delete: operations["deleteFile"];
        options?: never;
        head?: never;
        /**
         * Change a file
         * @description `null` removes the expiry, the metadata or the share token. A new share token, and its removal, void all links of before.
         */
        patch: operations["updateFile"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/files/{id}/share": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a link to a file
         * @description Whoever has the address can download the file until then, or until the file has another `shareToken`.
         */
        post: operations["shareFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/files/{workspaceId}/{fileId}.{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file
         * @description Public files are for anyone, others for those who may read them and for whoever has a link (`token`). `HEAD`, ranges
         *     and conditional requests are served. Images (not SVG), audio, video, plain text and PDF are shown in place
         *     (`Content-Disposition: inline`), everything else is saved. Nothing in a file runs on this origin.
         */
        get: operations["downloadFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/labels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the labels in use
         * @description Those of the workspaces that the caller may read, the most used first.
         */
        get: operations["listLabels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Bring a deleted workspace back
         * @description For super admins and whoever owned it. 409 when its slug was taken meanwhile: give another one.
         */
        post: operations["undeleteWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/writeLock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lock a workspace for writing
         * @description A lock that was set by hand is renewed; any other is 423. It expires after WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES.
         */
        post: operations["lockWorkspace"];
        /**
         * Clear the write lock
         * @description Whoever holds it. The content stays as it is.
         */
        delete: operations["unlockWorkspace"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List published apps
         * @description Everyone may read apps, unless the workspace that publishes one says otherwise. The last published first.
         */
        get: operations["listApps"];
        put?: never;
        /**
         * Publish a workspace as an app
         * @description The content of the workspace as it is now becomes the newest version of its app. The workspace needs a description and a
         *     photo (422 names what is missing). A workspace is one app at most; `slug` is needed the first time and never changes.
         *     Publishing again what is the newest version already does nothing.
         */
        post: operations["publishApp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/apps/{appSlug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an app
         * @description With what the version that is asked for consists of: its config without values, the automations that others may call,
         *     its blocks and events.
         */
        get: operations["getApp"];
        put?: never;
        post?: never;
        /**
         * Take an app back
         * @description Its slug is free then. Instances stay where they are and show `missing: true`. Built-in apps cannot be deleted: 403
         *     with the reason `built_in`.
         */
        delete: operations["deleteApp"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the app instances
         * @description With what each adds to the workspace, under the names it has there.
         */
        get: operations["listAppInstances"];
        put?: never;
        /**
         * Install an app
         * @description Without `slug` the instance is called like its app; without `appVersion` it follows what is published. An unknown app is
         *     404, one that contains the workspace 422. Settings that the app declares secret are sealed and shown as `********`.
         *     Settings of a wrong type, and those that the schema of the app does not declare unless it says
         *     `additionalProperties: true`, are 422 with their field (`config.limit`); templates are checked when they are resolved.
         *     With `dryRun` the answer is 200 and a verdict.
         */
        post: operations["installApp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/apps/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an app instance
         * @description With the config of its app and the value that the instance has for it, secrets masked. As YAML: the text of its file.
         */
        get: operations["getAppInstance"];
        /**
         * Replace an app instance
         * @description The body is the whole instance: a field that is left out is removed; another `slug` renames it. A mask keeps the secret that it
         *     stands for. With `dryRun` the answer is a verdict.
         */
        put: operations["replaceAppInstance"];
        post?: never;
        /** Uninstall an app */
        delete: operations["uninstallApp"];
        options?: never;
        head?: never;
        /**
         * Change an app instance
         * @description In a JSON body, fields that are not named stay as they are and `null` removes an optional one; a YAML body is the whole
         *     instance. Another `slug` renames it. A mask keeps the secret that it stands for. With `dryRun` the answer is a verdict.
         */
        patch: operations["updateAppInstance"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/apps/{slug}/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the config of an app instance
         * @description The value alone, secrets masked.
         */
        get: operations["getAppInstanceConfig"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the config of an app instance
         * @description Settings that are not named stay as they are; `null` removes one. With `dryRun` the answer is a verdict.
         */
        patch: operations["updateAppInstanceConfig"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/automations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the automations */
        get: operations["listAutomations"];
        put?: never;
        /**
         * Create an automation
         * @description Without a slug it gets one that its name suggests. Faults of a YAML body are told with their line and column.
         */
        post: operations["createAutomation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/automations/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an automation */
        get: operations["getAutomation"];
        /**
         * Replace an automation
         * @description The body is the whole document: a field that is left out is removed. Another slug renames it.
         */
        put: operations["replaceAutomation"];
        post?: never;
        /** Delete an automation */
        delete: operations["deleteAutomation"];
        options?: never;
        head?: never;
        /**
         * Change an automation
         * @description A JSON body changes the fields that it names, and `null` removes an optional one. A YAML body is the whole document.
         *     Another slug renames it.
         */
        patch: operations["updateAutomation"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/pages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the pages */
        get: operations["listPages"];
        put?: never;
        /**
         * Create a page
         * @description Without a slug it gets one that its name suggests. Faults of a YAML body are told with their line and column.
         */
        post: operations["createPage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/pages/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look at a page that is not saved
         * @description For ten minutes the caller can read the draft as HTML at `url`, on the origin of the API also where pages have hosts of their
         *     own: without any script, and nothing can be done in it. Nothing is saved, and no event is recorded but those of automations.
         */
        post: operations["previewPage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/pages/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a page */
        get: operations["getPage"];
        /**
         * Replace a page
         * @description The body is the whole document: a field that is left out is removed. Another slug renames it.
         */
        put: operations["replacePage"];
        post?: never;
        /** Delete a page */
        delete: operations["deletePage"];
        options?: never;
        head?: never;
        /**
         * Change a page
         * @description A JSON body changes the fields that it names, and `null` removes an optional one. A YAML body is the whole document.
         *     Another slug renames it.
         */
        patch: operations["updatePage"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the knowledge bases */
        get: operations["listKnowledgeBases"];
        put?: never;
        /**
         * Create a knowledge base
         * @description Without a slug it gets one that its name suggests. Faults of a YAML body are told with their line and column.
         *     `embedding` without a provider of models is refused with 409 and reason `no_model`.
         */
        post: operations["createKnowledgeBase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a knowledge base */
        get: operations["getKnowledgeBase"];
        put?: never;
        post?: never;
        /** Delete a knowledge base */
        delete: operations["deleteKnowledgeBase"];
        options?: never;
        head?: never;
        /**
         * Change a knowledge base
         * @description A JSON body changes the fields that it names, and `null` removes an optional one. A YAML body is the whole document.
         *     Another slug renames it. `embedding` is refused as when a base is created.
         */
        patch: operations["updateKnowledgeBase"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search knowledge bases
         * @description Several bases, or all that the caller may read documents of. Each is ranked by itself.
         */
        post: operations["searchKnowledgeBases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/ask": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask knowledge bases a question
         * @description Several bases, or all that the caller may read documents of. Their `answer` settings do not count.
         *     With `stream: true` or `Accept: text/event-stream` events come as the model answers: `sources` {results}, `delta` {text}, and last
         *     `done` (the answer) or `error`. The texts of all deltas are the answer. Without a model: 409 `no_model`.
         */
        post: operations["askKnowledgeBases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/ask": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask a knowledge base a question
         * @description A language model answers from passages of documents that the caller may read, and cites them as `[n]`. When no passage fits, no
         *     model is called, and the answer is `noAnswer` of the base, in the language that `Accept-Language` prefers, else in that of the base.
         *     With `stream: true` or `Accept: text/event-stream` events come as the model answers: `sources` {results}, `delta` {text}, and last
         *     `done` (the answer) or `error`. The texts of all deltas are the answer. Without a model: 409 `no_model`.
         */
        post: operations["askKnowledgeBase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search a knowledge base by an address
         * @description The same search as by POST, with fewer settings.
         */
        get: operations["findInKnowledgeBase"];
        put?: never;
        /**
         * Search a knowledge base
         * @description Finds passages of documents that are ready: also of one that became ready just before the call.
         */
        post: operations["searchKnowledgeBase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List with whom a knowledge base is shared */
        get: operations["listKnowledgeBaseShares"];
        put?: never;
        /**
         * Share a knowledge base
         * @description `read` is about the base and its documents, `update` also lets create, change and delete documents, `delete` is about the base.
         */
        post: operations["shareKnowledgeBase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/permissions/{target}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Stop sharing a knowledge base */
        delete: operations["unshareKnowledgeBase"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the agents */
        get: operations["listAgents"];
        put?: never;
        /**
         * Create an agent
         * @description Without a slug it gets one that its name suggests. Faults of a YAML body are told with their line and column.
         *     Automations and knowledge bases that do not exist are told in `warnings`. `access: agent` needs the right to read all
         *     documents of the base.
         */
        post: operations["createAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an agent */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        /** Delete an agent */
        delete: operations["deleteAgent"];
        options?: never;
        head?: never;
        /**
         * Change an agent
         * @description A JSON body changes the fields that it names, and `null` removes an optional one. A YAML body is the whole document.
         *     Another slug renames it. It is changed as a draft: callers get what is published.
         */
        patch: operations["updateAgent"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish an agent as it is
         * @description Callers get the agent as it is now. What is changed afterwards is the draft, until it is published again.
         */
        post: operations["publishAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/unpublish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take back what is published of an agent
         * @description Only those who may change it can execute it from then on.
         */
        post: operations["unpublishAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message to an agent
         * @description The answer is worked on until it ends, also when the connection does; only `cancel` ends it. After `timeout` the answer is 202.
         *     With `stream: true`, or `Accept: text/event-stream`, it comes as frames: `message`, `delta`, `tool_call`, `tool_result`, `approval`, and `done` or `error`.
         *     Functions are called with the rights of the caller.
         */
        post: operations["sendAgentMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/messages/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a message
         * @description Only for who began the conversation.
         */
        get: operations["getAgentMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/messages/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the answer to a message
         * @description Frames can be read again for an hour; after that the text comes as one.
         */
        get: operations["streamAgentMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/messages/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the answer to a message */
        post: operations["cancelAgentMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/messages/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve or refuse a call of a function
         * @description The work on the message goes on once all calls that need it are decided. A refused call is told to the model.
         */
        post: operations["approveAgentCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the conversations with an agent
         * @description Those of the caller, the newest first.
         */
        get: operations["listAgentConversations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a conversation */
        get: operations["getAgentConversation"];
        put?: never;
        post?: never;
        /**
         * Delete a conversation
         * @description Its text is erased at once.
         */
        delete: operations["deleteAgentConversation"];
        options?: never;
        head?: never;
        /** Rename a conversation */
        patch: operations["renameAgentConversation"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer an MCP client
         * @description The MCP server of the workspace: Streamable HTTP without sessions, one JSON-RPC message in each body. Its tools are automations and published agents with the
         *     label `mcp`, `search_knowledge`, `ask_knowledge` and `read_document`, each for who may use it. Tokens with scopes need `webhooks`, `agents` or `knowledge:read`.
         *     Cookies are ignored, and requests of foreign web origins are refused (403). A tool that fails is a result with `isError`. Calls of tools are answered as
         *     `text/event-stream` when the client accepts it.
         */
        post: operations["callMCP"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List with whom an agent is shared */
        get: operations["listAgentShares"];
        put?: never;
        /**
         * Share an agent
         * @description The policies are `read`, `execute`, `update` and `delete`; with everyone it is `execute` only. Sharing with everyone is content: it is refused while the workspace is locked. Other shares are not.
         */
        post: operations["shareAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/agents/{slug}/permissions/{target}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Stop sharing an agent */
        delete: operations["unshareAgent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the documents of a knowledge base
         * @description Only those that the caller may read. `metadata.{path}` asks for documents whose metadata has a value there, as text. Without
         *     `sort`, the last changed first.
         */
        get: operations["listKnowledgeDocuments"];
        put?: never;
        /**
         * Add a document, or files
         * @description JSON brings one document: exactly one of `text`, `url` and `fileId`. A form brings 1 to 50 files, for which its other fields go.
         *     A document is known by its key, else by its address, else by its file: what is given replaces what is stored (200, and the right
         *     to update it is needed). The same content is not processed again: `unchanged`. A new one is 201, of files always. The answer shows
         *     the status `pending`, or what became of it within `wait`. A document that cannot be read is no fault of the request: its status
         *     is `error`. Beyond `KNOWLEDGE_MAX_DOCUMENTS` 422 with the reason `limit_exceeded`.
         */
        post: operations["addKnowledgeDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add documents
         * @description Each as by itself: one that is refused, also for its form, does not keep the others from being added.
         */
        post: operations["addKnowledgeDocuments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete documents
         * @description By their ids, at most 1000, or by a condition of paths and operators on `id key name title url source tags language mimetype size createdAt
         *     updatedAt metadata.*`. An empty condition needs `all`. One event tells of all of them.
         */
        post: operations["deleteKnowledgeDocuments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read what is known of a document */
        get: operations["getKnowledgeDocument"];
        put?: never;
        post?: never;
        /** Delete a document */
        delete: operations["deleteKnowledgeDocument"];
        options?: never;
        head?: never;
        /**
         * Change what is said about a document
         * @description Changes the fields that it names; `null` removes one. The content is not processed again.
         */
        patch: operations["updateKnowledgeDocument"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download the content of a document
         * @description The bytes as they came, of one of the last `KNOWLEDGE_REVISIONS_KEPT` revisions. Ranges and conditional requests are served.
         */
        get: operations["getKnowledgeDocumentContent"];
        /**
         * Replace the content of a document
         * @description As when a document is added: JSON, or a form with one file. The former text is searched until the new one is ready.
         */
        put: operations["replaceKnowledgeDocumentContent"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/text": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the text of a document
         * @description The text that is searched, or that of another revision that is kept. There is none of one that could not be read.
         */
        get: operations["getKnowledgeDocumentText"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/chunks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the passages of a document */
        get: operations["listKnowledgeDocumentChunks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/revisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the revisions of a document */
        get: operations["listKnowledgeDocumentRevisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/reindex": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Process a document again
         * @description `extract: false` only divides the text again; `fetch` loads the address again, also that of a page of a crawl, as a single address:
         *     without the headers of the source. A document without an address is refused with 422 then. The former text is searched meanwhile.
         */
        post: operations["reindexKnowledgeDocument"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/reindex": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Process the documents of a knowledge base again
         * @description All documents, or those that `filters` select, are divided into passages again; with `extract` their contents are read again, too. What
         *     was searched stays until a document is ready. The answer is an operation of the kind `reindex`; one that is running is refused with 409, reason
         *     `already_running`. A change of `chunking`, `language` or `embedding` does the same by itself.
         */
        post: operations["reindexKnowledgeBase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/sources/{sourceId}/crawl": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read a source
         * @description `full` loads pages although they may not have changed; `allowMassRemoval` removes documents of pages that are gone, however many they are.
         *     A source that is being read is refused with 409, reason `already_running`. `…/operations/{opId}` has its progress, and cancels it.
         */
        post: operations["crawlKnowledgeSource"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/crawls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the crawls of a knowledge base */
        get: operations["listKnowledgeCrawls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/crawls/{opId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a crawl */
        get: operations["getKnowledgeCrawl"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/knowledgeBases/{slug}/crawls/{opId}/pages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the pages of a crawl */
        get: operations["listKnowledgeCrawlPages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the language models
         * @description Those of the workspace, then those of the platform. Without providers the list is empty. A provider that does not answer shows the models that the settings name.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/models/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a language model
         * @description It calls the model once. A model that cannot be used is `ok: false` with the reason.
         */
        post: operations["testModel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/tests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the test suites */
        get: operations["listTests"];
        put?: never;
        /**
         * Create a test suite
         * @description A suite has cases of one automation: how it starts, what it gets from outside, and what is expected of it. Without a slug it
         *     gets one that its name, or that of its automation, suggests. Faults of a YAML body are told with their line and column.
         */
        post: operations["createTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/tests/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run test suites
         * @description Runs cases without effect: requests are answered by stubs, contexts and collections are empty but for what stubs say, time
         *     stands still but for waits, and events are only compared. Secrets are those of stubs. Without `suites` and `automations` all
         *     suites run whose automations the caller may test and read. Documents replace what is saved, for this run only.
         */
        post: operations["runTests"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/tests/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compare a draft of an automation with recorded runs
         * @description Runs the saved automation and the draft with the input and the answers of the last recorded runs, and compares output, events,
         *     requests and status. Nothing leaves, and nothing is stored. A run that reads a stream is skipped.
         */
        post: operations["checkDraft"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/tests/fromRuns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a test suite of recorded runs
         * @description The suite is not saved. Secrets and credentials in it are `REDACTED`, and cases expect what the saved automation does with
         *     that. Runs that are alike become one case; the others that no case is made of are listed with the reason.
         */
        post: operations["makeTestFromRuns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/tests/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a test suite */
        get: operations["getTest"];
        /**
         * Replace a test suite
         * @description The body is the whole document, as JSON or YAML. Another slug renames it.
         */
        put: operations["replaceTest"];
        post?: never;
        /** Delete a test suite */
        delete: operations["deleteTest"];
        options?: never;
        head?: never;
        /**
         * Change a test suite
         * @description A JSON body changes the fields that it names, and `null` removes an optional one. A YAML body is the whole document.
         *     Another slug renames it.
         */
        patch: operations["updateTest"];
        trace?: never;
    };
    "/v2/pages/{workspaceSlug}/{pageSlug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a page as its visitors do
         * @description A page that is not public: 401 without a credential, 403 with one that may not read it.
         */
        get: operations["visitPage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pages/{pageId}/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List with whom a page is shared */
        get: operations["listPageShares"];
        put?: never;
        /**
         * Share a page
         * @description Sharing with everyone is content: it is refused while the workspace is locked. Other shares are not.
         */
        post: operations["sharePage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pages/{pageId}/permissions/{target}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Stop sharing a page */
        delete: operations["unsharePage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the blocks */
        get: operations["listBlocks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/blocks/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set a block */
        put: operations["putBlock"];
        post?: never;
        /** Remove a block */
        delete: operations["deleteBlock"];
        options?: never;
        head?: never;
        /**
         * Change a block
         * @description A JSON body changes the fields that it names, and `null` removes one. A YAML body is the whole block.
         */
        patch: operations["updateBlock"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/waits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List who waits for what
         * @description The oldest first. Events of an app instance have its name in front.
         */
        get: operations["listWaits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/waits/{waitId}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a wait by the event that it is for
         * @description The event is emitted as it is given, with the name of the app instance in front when an app waits. An event that the wait is not
         *     for, or that its filters do not fit, is 422; a wait that is over is 409 `already_ended`.
         */
        post: operations["answerWait"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/problems": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what is wrong with the content
         * @description Faults and warnings of documents and app configs, names that documents use and that do not exist, secrets without a value,
         *     schedules that cannot fire and repositories that could not be reached. Kept up by every change.
         */
        get: operations["listProblems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/references": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what documents use of each other
         * @description Of every automation and page: the automations that it calls, and the events that it listens to and emits. Kept up by every change.
         */
        get: operations["listReferences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the config */
        get: operations["getWorkspaceConfig"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the config
         * @description Each part that is sent replaces the one there is, null removes it. A value that the schema calls secret must be `{{secret.NAME}}`;
         *     the mask keeps what is there.
         */
        patch: operations["updateWorkspaceConfig"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/security/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the secrets, without values */
        get: operations["listSecrets"];
        /**
         * Set the secrets, and remove all others
         * @description Those that are not named are removed, which takes delete on secrets; those of the platform stay.
         */
        put: operations["putSecrets"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Set secrets
         * @description Those that are not named stay. Names that begin with `svc_` are for super admins.
         */
        patch: operations["patchSecrets"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/security/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a secret */
        delete: operations["deleteSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/schemas/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the JSON Schema of a sort of documents */
        get: operations["getSchema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened on the platform
         * @description Every change of state, of all workspaces and of the gateway, the last first.
         */
        get: operations["listHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened to a workspace
         * @description The last first. Entries about API keys are for those with `manage_permissions`.
         */
        get: operations["listWorkspaceHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare two moments of a workspace
         * @description File by file, as they are exported. Documents that the caller may not read are left out.
         */
        get: operations["diffWorkspace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put an earlier content back
         * @description In one step, as a new change: nothing is erased. The slug, custom domains and repositories stay. Security changes also
         *     need `manage_security`, else they are left out with a warning.
         */
        post: operations["restoreWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo a change of the content
         * @description What it touched is put back as it was before, in a new change. Later changes of the same parts: 409, reason
         *     `superseded`, with their tokens in `details.by`. A change that is no content, and the creation: 422.
         */
        post: operations["undoChange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/versions/{name}/duplicate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a copy of a workspace
         * @description The caller owns the copy; the copy that an API key makes belongs to the owners of the original. The labels `suggestions` and `production:*`, custom domains, repositories, secrets and rules
         *     with the reason `REMOVE_ON_DUPLICATE` stay behind, and documents that the caller may not read.
         */
        post: operations["duplicateWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a workspace
         * @description The files of the workspace under `current/`, YAML in canonical form: the same content is the same bytes. Locks do
         *     not keep anybody from it.
         */
        get: operations["exportWorkspace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/versions/{name}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a version
         * @description The files of the workspace under `current/`, YAML in canonical form: the same content is the same bytes. Locks do
         *     not keep anybody from it.
         */
        get: operations["exportVersion"];
        put?: never;
        /**
         * Export a version, by POST
         * @description The files of the workspace under `current/`, YAML in canonical form: the same content is the same bytes. Locks do
         *     not keep anybody from it.
         */
        post: operations["exportVersionByPost"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import an archive into a workspace
         * @description Switches the content to what the archive says, in one step: readers see the old or the new content. A file that is
         *     wrong is an item of `errors`, the others are imported; with `strict` nothing is. An archive that is unsafe, too
         *     large or without a good index is refused whole. Slug, labels, custom domains and repositories of the workspace are
         *     kept, labels united. A security document that differs takes `manage_security`, else it is left out with a warning.
         */
        post: operations["importWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import an archive into new workspaces
         * @description An archive of one workspace makes a new one, which the caller owns. It keeps the id it was exported with when that
         *     was never used here, and its slug when that is free. An archive of many workspaces makes those that are not there
         *     and changes those that the caller may update, in the order in which they are listed; the others are items of
         *     `errors`. Then `imported` and `deleted` begin with the id of the workspace, and `workspace` is left out.
         */
        post: operations["importWorkspaces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Export many workspaces
         * @description A zip of zips: `workspaces/{id}.zip` for each workspace that the caller may read, and `bulkExport.json` with
         *     `workspaceIds` and `publishApps`, those first whose apps others need.
         */
        post: operations["exportWorkspaces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the operations
         * @description The newest first. They are kept for OPERATIONS_RETENTION_DAYS after their end. A result that is very large is shown by the operation itself only.
         */
        get: operations["listOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/operations/{opId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an operation
         * @description `result` is what the call would have answered.
         */
        get: operations["getOperation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/operations/{opId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow an operation
         * @description Server-sent events: what was recorded of the operation from its start, then what is, until it has ended. `id` is a position, `event` the type of the event, `data` its payload.
         */
        get: operations["streamOperation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/operations/{opId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel an operation
         * @description For who started it, and for those with `manage_security`. It is heeded up to the point of no return; an operation that has ended is 409 `already_ended`.
         */
        post: operations["cancelOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/repositories/{repositoryId}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test the connection to a repository
         * @description Connects, lists the branches and changes nothing. What is wrong at the remote is in `error`, with what to do about it:
         *     the answer is 200 all the same. A secret that is missing, and a repository that nobody connects to, are 422.
         */
        post: operations["testRepository"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the versions
         * @description The newest first.
         */
        get: operations["listVersions"];
        put?: never;
        /**
         * Save a version, to a repository if one is named
         * @description Saves the content under a name: in the platform's own store, or to the repository that is named. A push to Git commits on the
         *     branch `svc/{slug}/{branch}`, moves the target branch to that commit and tags it. When the repository has changes that are not
         *     in the workspace it is 409 `not_up_to_date`: pull first. Edits go on meanwhile and stay to be pushed.
         *
         *     Of the platform workspace, with `groups` or a platform repository, it is a bulk run: the workspaces of the groups are pushed one after another. The answer is then what the
         *     `completed` event tells; `dryRun` tells the plan; `sse=true` streams `started`, a `progress` for each workspace and `completed`.
         */
        post: operations["pushVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/push": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Save a version, by its other name
         * @description Saves the content under a name: in the platform's own store, or to the repository that is named. A push to Git commits on the
         *     branch `svc/{slug}/{branch}`, moves the target branch to that commit and tags it. When the repository has changes that are not
         *     in the workspace it is 409 `not_up_to_date`: pull first. Edits go on meanwhile and stay to be pushed.
         *
         *     Of the platform workspace, with `groups` or a platform repository, it is a bulk run: the workspaces of the groups are pushed one after another. The answer is then what the
         *     `completed` event tells; `dryRun` tells the plan; `sse=true` streams `started`, a `progress` for each workspace and `completed`.
         */
        post: operations["pushWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/versions/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Forget a version
         * @description A tag at a remote stays, and so does the content in the history.
         */
        delete: operations["deleteVersion"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/versions/{name}/pull": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Bring what a version or a repository has
         * @description Brings what the repository has, or a version of it: `latest`, a version, a tag or the beginning of a commit id. What was changed
         *     here since the last push or pull is saved on `svc/{slug}/{branch}` and merged; where both sides changed the same, nothing is
         *     imported and the answer is 409 `merge_conflict`: resolve it in Git and pull again, or over `/conflicts`.
         *
         *     Of the platform workspace, with `groups` or a platform repository, it is a bulk run: the workspaces of the repository, or those of the groups, are imported one after another and what was changed here goes. The answer is then what the
         *     `completed` event tells; `dryRun` tells the plan; `sse=true` streams `started`, a `progress` for each workspace and `completed`.
         */
        post: operations["pullVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/pull": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Bring what a repository has
         * @description Brings what the repository has, or a version of it: `latest`, a version, a tag or the beginning of a commit id. What was changed
         *     here since the last push or pull is saved on `svc/{slug}/{branch}` and merged; where both sides changed the same, nothing is
         *     imported and the answer is 409 `merge_conflict`: resolve it in Git and pull again, or over `/conflicts`.
         *
         *     Of the platform workspace, with `groups` or a platform repository, it is a bulk run: the workspaces of the repository, or those of the groups, are imported one after another and what was changed here goes. The answer is then what the
         *     `completed` event tells; `dryRun` tells the plan; `sse=true` streams `started`, a `progress` for each workspace and `completed`.
         */
        post: operations["pullWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare a workspace with its repositories
         * @description By what files mean, not by their bytes. Remotes are asked at most once a minute; one that does not answer is `stale`.
         */
        get: operations["getStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/conflicts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the files in conflict */
        get: operations["getConflicts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/conflicts/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resolve a conflict
         * @description Every file in conflict, and no other. The resolution is committed on the intermediate branch and imported; the lock goes.
         */
        post: operations["resolveConflicts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events
         * @description The feed of a workspace: what changed and what happened, the last first. Only events that the caller may read count, so pages are full. With `Accept: text/event-stream` the feed as it grows (see `…/events/stream`), with `application/cloudevents-batch+json` the same page as CloudEvents 1.0, with `application/x-ndjson` all matches, one in a line. Any other parameter is the dotted path of a field, with its exact text, `*` as a wildcard, several times for any of, empty for absent: `payload.status=paid`, `source.correlationId=…`.
         */
        get: operations["listEvents"];
        put?: never;
        /**
         * Emit events
         * @description All of them are recorded, or none; the answer means that they are on disk. What listens to their types runs. Whoever
         *     a rule without a role lets, such as the one of a new workspace, needs no credential; each event is held against the
         *     rules as it would be recorded. Who has no role in the workspace, and no key of it, can emit neither `error`, `usage`
         *     and `*.usage` nor types that begin with the slug of an app instance and a dot: 403.
         *
         *     A type that the platform writes itself is 422 with the reason `native_type`; `error` and `usage` may be emitted, in
         *     the shape that the catalogue gives them. A payload of more characters, as compact JSON, than `BROKER_EMIT_MAXLEN` is
         *     413 with the reason `event_too_large` and `details {eventType, length, limit}`. An event with
         *     `options.persist: false` reaches live readers and triggers, and is kept nowhere: its `seq` is where the log was.
         */
        post: operations["emitEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow events
         * @description Server-sent events: those after a position first, then each as it comes, without a gap or a repetition. `id` is the `seq` of the event, `data` the event. A reader that is more than 1000 events or 5 MB behind is closed and goes on with `Last-Event-ID`. A position that the log has not reached counts as now, which a comment line says. Any other parameter is the dotted path of a field, with its exact text, `*` as a wildcard, several times for any of, empty for absent: `payload.status=paid`, `source.correlationId=…`.
         */
        get: operations["streamEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/events/ws": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow and emit events over a WebSocket
         * @description Text frames, one JSON object each. The server sends `{ready: {socketId, seq}}`, `{event}`, `{ack: {ref, id, seq}}` and `{error: {code, message, details, ref}}`; the client `{auth: {token}}` or `{auth: {apiKey}}` first when it has shown no credential, `{filters: {…}}` and `{emit: {type, payload, target, options}, ref}`. Close codes: 1001 the service stops, 1009 a frame over 1 MB, 1013 too slow, 4401 not authenticated, 4403 forbidden. Any other parameter is the dotted path of a field, with its exact text, `*` as a wildcard, several times for any of, empty for absent: `payload.status=paid`, `source.correlationId=…`.
         */
        get: operations["eventSocket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/events/{eventId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an event
         * @description With `Accept: application/cloudevents+json` in the form of CloudEvents 1.0.
         */
        get: operations["getEvent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the events of all workspaces
         * @description Server-sent events of every workspace that the caller may read, and may read the events of. `id` is a position in all of them. A position that the log has not reached counts as now, which a comment line says. Any other parameter is the dotted path of a field, with its exact text, `*` as a wildcard, several times for any of, empty for absent: `payload.status=paid`, `source.correlationId=…`.
         */
        get: operations["streamAllEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/nats/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List who watches events over NATS */
        get: operations["listNATSUsers"];
        put?: never;
        /**
         * Let a program watch events over NATS
         * @description For `svc nats user add`, which makes the key and writes the credentials: only its public part is sent. `workspaces` are named by id, slug or `slug:{slug}`, or `all` is true.
         *     `types` are event types of which whole words may be `*`; one in the end stands for all that may follow. None: all types. The same again changes nothing; a key has one user for ever.
         */
        post: operations["createNATSUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/nats/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Shut a program out that watches events
         * @description At once and on all nodes: its connections are cut.
         */
        delete: operations["deleteNATSUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search the events of all workspaces
         * @description As in one workspace (see `…/search`), over all of them. Typed fields are those that the workspace of an event declares.
         */
        post: operations["searchAllEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/webhooks/{endpoint}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Call the endpoint of an automation
         * @description Runs the automation that has this endpoint, with `{method, headers, query, pathParams, body, rawBody, workspaceId,
         *     automationSlug, $http}`. Everyone may, unless the automation says who. The answer is sent when everything that the run
         *     did is on disk; past the request timeout it is 504, and the run goes on. A caller without a credential gets a session of
         *     one hour, named in `x-svc-session-id`.
         */
        get: operations["callEndpoint"];
        /** Call the endpoint of an automation, by PUT */
        put: operations["callEndpointByPut"];
        /** Call the endpoint of an automation, by POST */
        post: operations["callEndpointByPost"];
        /** Call the endpoint of an automation, by DELETE */
        delete: operations["callEndpointByDelete"];
        options?: never;
        head?: never;
        /** Call the endpoint of an automation, by PATCH */
        patch: operations["callEndpointByPatch"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/test/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run an automation with a payload
         * @description As its endpoint would, but with `payload` as the whole input, and for private and disabled ones too. Errors are told with
         *     all their details. Chunks (`$http.chunk`) are not sent: with `record=true` they are `chunks` of the run.
         */
        post: operations["testAutomation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the runs
         * @description What automations did, one item for each correlation id, the last that began first. A run consists of what was triggered
         *     and of everything that its events triggered in turn. Listed is what the caller may read the executions of. Where that has to be
         *     found out run by run, a page comes of 10,000 runs at most: it may then be short, and `Link` goes on with earlier ones.
         */
        get: operations["listRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/runs/{correlationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a run
         * @description With its executions: those that an execution called, and those that its events triggered, are its children. Executions
         *     that the caller may not read are left out, and what they caused stands at the top.
         */
        get: operations["getRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/runs/{correlationId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay a recorded run
         * @description Executes the recorded trees of the run again. Every effect is answered from the recording and nothing leaves: no request, no
         *     event but `runtime.runs.replayed`, no write. With `recorded`, the documents that the run was executed with, it is identical.
         *     409, reason `not_recorded`, `truncated`, `expired` or `running`.
         */
        post: operations["replayRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/runs/{correlationId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description Waits that are pending end, and what is under way gets `ExecutionCancelledError` at its next effect; `finally` blocks run.
         */
        post: operations["cancelRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Search events
         * @description Finds, sorts, counts and sums up the events of a workspace that the caller may read: what changed and what happened
         *     alike. With `aggs` the caller also needs `aggregate_search`.
         *
         *     The language is a part of the one that search engines speak; whatever else is asked for, scripts and
         *     `runtime_mappings` included, is 422 with the path of it. Queries: `match_all`, `bool` (`must`, `filter`, `should`,
         *     `must_not`, `minimum_should_match`), `term`, `terms`, `range` (numbers, dates, math such as `now-1h/d`), `exists`,
         *     `prefix`, `wildcard`, `ids`, `match`, `match_phrase`, `query_string` (words, `"phrases"`, `field:value`, AND, OR,
         *     NOT, parentheses, `*`). Aggregations: `terms`, `date_histogram`, `histogram`, `range`, `date_range`, `filter`,
         *     `filters`, `missing`, in each other up to 5 deep, and in them `min`, `max`, `avg`, `sum`, `stats`, `value_count`,
         *     `cardinality` (about, beyond 4096 values), `percentiles`, `top_hits` (up to 10).
         *
         *     Fields are the paths of an event. Texts are compared as a whole, those of `payload` and `error` by `match` and
         *     `query_string` word by word; `createdAt`, also called `@timestamp`, is a date; numbers are numbers. `aggPayload.…`
         *     are the fields of the payload as `events.types` of the workspace declares them.
         *
         *     Bounds of a request: 1024 conditions, words and ranges, 20 deep; 100 aggregations; names of fields of 500
         *     characters, patterns of 1000 and of 4096 in all; pages within the first 10,000 documents. What takes too much memory,
         *     or makes more than 10,000 buckets, is 422; what takes longer than 10 s, the wait for other searches included, is 504:
         *     ask for a shorter range of time.
         */
        post: operations["searchEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how much a workspace is used
         * @description What made automations run, from `afterDate` on and before `beforeDate`: how many different correlation ids, by what
         *     triggered them, sessions and users there were; what app instances say of themselves in `{instance}.usage` events; and what the platform
         *     counts: tokens of language models, searches and questions.
         *     Days and months are those of UTC. Beyond a million different ones, they are counted within about 1 %.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/cleanup/indices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase events that are too old
         * @description Erases activity events that are older than the retention, those of small workspaces that nobody uses, and those of
         *     workspaces that were deleted long ago, with their payloads, user data and key; then contents that nothing refers to. What
         *     workspaces, history, versions and operations are made of is never touched. The fields of the body take the place of the settings for this run.
         *
         *     The built-in job runs the same code, by default on Sundays at 0:00. One run at a time: another is 423. A part that
         *     fails is listed in `errors`; when none succeeds it is 500. Each real run is an `events.cleaned` event of `platform`.
         *     There is no request timeout, and a run that is broken off is finished by the next one. Super admins may ask with
         *     `dryRun=true`, and only so: otherwise it is 403 with the reason `dry_run_only`.
         */
        post: operations["cleanIndices"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sys/cleanup/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase payloads of executions that are too old
         * @description Erases `payload` and `output` of `runtime.automations.executed` that are older than the expiration; the rest of the
         *     event stays, with `stripped: true`. Recordings of runs that are older than RUN_RECORDING_DAYS go with them, whatever the
         *     expiration is. The built-in job runs the same code, by default every night at 3:30. Otherwise as the cleanup of indices.
         */
        post: operations["cleanExecutions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the subscriptions
         * @description Where events of the workspace are sent, and how the receivers do.
         */
        get: operations["listSubscriptions"];
        put?: never;
        /**
         * Subscribe to events
         * @description Events of the workspace that happen from now on are POSTed to `url`, as the event itself, in the form of the Standard Webhooks:
         *     `webhook-id` is the id of the event, `webhook-timestamp` the time in seconds, and `webhook-signature` is `v1,` and the base64 of
         *     the HMAC-SHA256 of `{id}.{timestamp}.{body}` with the secret, decoded. Deliveries also have `x-correlation-id` and `traceparent`.
         *
         *     A 2xx answer within `WEBHOOK_TIMEOUT_SECONDS` is a success; redirects are not followed. What fails is tried again as
         *     `WEBHOOK_RETRY_SCHEDULE` says, and is then `dead`. Delivery is at least once: drop repeats by `webhook-id`. Events with the same
         *     value at `orderKey` go one after another, in the order of the log; those without a value there have no order. After ten failures
         *     in a row the breaker opens: one delivery per minute is tried until one succeeds. After days of failure the subscription is disabled.
         *
         *     The secret is shown once. Without `secret` one is made. 422 when `url` is not http(s), has credentials in it, or leads where
         *     requests must not go; 429 `quota_exceeded` beyond 100 subscriptions.
         */
        post: operations["createSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/subscriptions/{subscriptionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a subscription
         * @description Its terms, and how its receiver does. The secret is not shown.
         */
        get: operations["getSubscription"];
        put?: never;
        post?: never;
        /**
         * Delete a subscription
         * @description Nothing is delivered any more, not even what was waiting.
         */
        delete: operations["deleteSubscription"];
        options?: never;
        head?: never;
        /**
         * Change a subscription
         * @description What is not given stays; null puts the default back. `disabled: true` stops deliveries, `disabled: false` goes on where they
         *     stopped and closes the breaker. The secret is changed by `rotateSecret`.
         */
        patch: operations["updateSubscription"];
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/subscriptions/{subscriptionId}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries
         * @description Those that began within 30 days, the newest first, each with every attempt.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/subscriptions/{subscriptionId}/deliveries/{deliveryId}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver an event once more
         * @description At once, out of order, and with the same `webhook-id`; the retry schedule begins anew. A delivery that waits for its next attempt
         *     gets it now. While the subscription is disabled it waits.
         */
        post: operations["redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/subscriptions/{subscriptionId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver a part of the past once more
         * @description Puts the events of the period that the subscription asks for now in line, in order, each with a delivery of its own and the
         *     `webhook-id` that it always had. The period begins after `fromSeq` or `afterDate`, and ends with `toSeq`, before `beforeDate`, or
         *     now. It is an operation of kind `replay`: `progress` tells how many of how many are in line, and cancelling it leaves out the rest.
         */
        post: operations["replaySubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/subscriptions/{subscriptionId}/rotateSecret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign with another secret
         * @description From now on deliveries have two signatures, of the new secret and of the one before, until `overlap` seconds are over. The new one
         *     is shown once. A secret that was the one before already stops at once.
         */
        post: operations["rotateSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces/{workspaceId}/subscriptions/{subscriptionId}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a subscription
         * @description Sends one event of the type `webhooks.test` at once, whether or not the subscription asks for it or is disabled. It is not tried
         *     again, and does not count for the breaker. What came of it is the answer: a receiver that fails is a 200 with the status `failed`.
         */
        post: operations["testSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Run: {
            correlationId: string;
            /** Format: date-time */
            startedAt: string;
            /** @description In milliseconds; so far, while it goes on. */
            duration: number;
            /** @enum {string} */
            status: "running" | "waiting" | "succeeded" | "failed" | "cancelled";
            trigger: components["schemas"]["RunTrigger"];
            /** @description That it began with, with its instance in front. */
            automation: string;
            /** @description Who caused it: a user, or `key:{id}` for an API key; absent for visitors and schedules. */
            startedBy?: string;
            /** @description That ended. */
            executions: number;
            /**
             * @description Whether it can be replayed; truncated: it was too large to record.
             * @enum {unknown}
             */
            recorded: true | false | "truncated";
        };
        WholeRun: {
            correlationId: string;
            /** Format: date-time */
            startedAt: string;
            /** @description In milliseconds; so far, while it goes on. */
            duration: number;
            /** @enum {string} */
            status: "running" | "waiting" | "succeeded" | "failed" | "cancelled";
            trigger: components["schemas"]["RunTrigger"];
            /** @description That it began with, with its instance in front. */
            automation: string;
            /** @description Who caused it: a user, or `key:{id}` for an API key; absent for visitors and schedules. */
            startedBy?: string;
            /** @description That ended. */
            executions: number;
            /**
             * @description Whether it can be replayed; truncated: it was too large to record.
             * @enum {unknown}
             */
            recorded: true | false | "truncated";
            /** @description What nothing else in it caused */
            tree: components["schemas"]["RunExecution"][];
            /** @description What it sent piece by piece (`$http.chunk`), when it was recorded; the first 1000, 1 MB together. */
            chunks?: unknown[];
            /** @description It has more than is shown: 20000 events, 2000 steps, 1000 executions with logs, the chunks, or an input or output above 1 MB. */
            truncated?: boolean;
        };
        /** @description A message of JSON-RPC 2.0. */
        MCPMessage: {
            /** @enum {string} */
            jsonrpc: "2.0";
            /** @description Absent in notifications. */
            id?: string | number;
            /** @description initialize, server/discover, ping, tools/list, tools/call, or a notification. */
            method?: string;
            params?: {
                [key: string]: unknown;
            };
        };
        /** @description An answer of JSON-RPC 2.0: result or error. */
        MCPResponse: {
            /** @enum {string} */
            jsonrpc: "2.0";
            id: string | number | null;
            result?: {
                [key: string]: unknown;
            };
            error?: {
                /** @description -32700, -32600, -32601, -32602, or one of the protocol. */
                code: number;
                message: string;
                data?: unknown;
            };
        };
        RunTrigger: {
            /** @description event, endpoint, schedule, automation, test, page, agent or mcp. */
            type: string;
            value: string;
            id?: string;
            appInstanceSlug?: string;
        };
        RunExecution: {
            executionId: string;
            slug: string;
            trigger: components["schemas"]["RunTrigger"];
            startedAt: string;
            /** @description In milliseconds; absent while it goes on. */
            duration?: number;
            /** @description Of those, waited for its turn. */
            throttled?: number;
            break?: boolean;
            error?: {
                error: string;
                message: string;
                details?: Record<string, never>;
                truncated?: boolean;
            };
            /** @description Lines of the console of its custom code, and errors that ended nothing, once it has ended; the first 10 kB. */
            logs: string[];
            /** @description What it called and what its events triggered. */
            children: components["schemas"]["RunExecution"][];
            /** @description While it waits: the events that end the wait; none for a wait that only lets time pass. */
            waitsFor?: components["schemas"]["AwaitedEvent"][];
            /**
             * Format: date-time
             * @description While it waits: when the first of its waits is over.
             */
            until?: string;
            /** @description What left it, when it was recorded; the first 1000. */
            effects?: components["schemas"]["RunEffect"][];
            /** @description What the tree that it begins started with, when it was recorded; up to 1 MB, without secrets. */
            input?: unknown;
            /** @description What it returned, when it was recorded; up to 1 MB, without secrets. */
            output?: unknown;
            /** @description Its instructions in the order in which they began, when it was recorded; the first 2000 of the run. */
            steps?: components["schemas"]["RunStep"][];
        };
        AwaitedEvent: {
            /** @description A type, or one that ends in `.*`. */
            event: string;
            /** @description What the event must look like. */
            filters?: Record<string, never>;
        };
        RunStep: {
            /** @description In the order in which they began in their tree. */
            n: number;
            /** @description Its path, such as `do[3].repeat.do[0].fetch`. */
            instruction: string;
            /** @description Of the loops around it, the outermost first. */
            iteration?: number[];
            /** @description Its parameters as they were evaluated; what is longer than 2 kB is cut and ends in `…`. */
            input?: unknown;
            /** @description What came of it, cut in the same way; of `conditions` the branch that was taken. */
            result?: unknown;
            /** @description Name and message of the error that it raised. */
            error?: string;
            /** Format: date-time */
            at: string;
            /** @description In milliseconds. */
            duration: number;
        };
        ReplayedRun: {
            correlationId: string;
            /** @enum {string} */
            document: "recorded" | "current";
            /**
             * @description failed: the replay could not go on.
             * @enum {string}
             */
            status: "identical" | "different" | "failed";
            executions: {
                executionId: string;
                slug: string;
                /** @enum {string} */
                status: "identical" | "different" | "failed";
                /** @enum {string} */
                output: "same" | "different";
            }[];
            differences: {
                executionId: string;
                /** @description Its path, as do[3].repeat.do[0].fetch. */
                instruction: string;
                /** @description Numbers of the iterations around it, the outermost first. */
                iteration?: number[];
                /** @enum {string} */
                kind: "effect_changed" | "effect_missing" | "effect_unused" | "branch" | "emit" | "context" | "output" | "error";
                /** @description As it was recorded; without secrets. */
                expected?: unknown;
                /** @description As it was replayed; without secrets. */
                actual?: unknown;
            }[];
        };
        RunEffect: {
            /** @description In the order of completion, in its tree. */
            n: number;
            /** @description clock, random, call, spawn, emit, wait, fetch, topic, rateLimit, auth, module, config, chunk, throttle, sleep or next. */
            kind: string;
            instruction: string;
            /** @description Of the loops around it, the outermost first. */
            iteration?: number[];
            summary: string;
            /**
             * Format: date-time
             * @description When it began; absent for random numbers and dates.
             */
            at?: string;
            /** @description In milliseconds. */
            duration: number;
            /** @description The execution that a call started. */
            executionId?: string;
            /** @description The event that was emitted. */
            eventId?: string;
            /** @description What custom code wrote to its console, the first 10 kB. */
            logs?: string[];
        };
        NATSUser: {
            id: string;
            name: string;
            workspaces: string[];
            all: boolean;
            types: string[];
            publicKey: string;
            /** Format: date-time */
            expiresAt?: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
        };
        /** @description Who and what caused an event. */
        EventSource: {
            workspaceId: string;
            /** @description A user, or `key:{id}` for an API key. */
            userId?: string;
            sessionId?: string;
            correlationId?: string;
            traceId?: string;
            automationSlug?: string;
            automationDepth?: number;
            executionId?: string;
            appSlug?: string;
            appInstanceFullSlug?: string;
            appInstanceDepth?: number;
            socketId?: string;
            /** @description Public addresses only. */
            ip?: string;
            /** @description `topic:runtime:emit` for emitted events, else the type. */
            serviceTopic: string;
            host: {
                service?: string;
                replica?: string;
            };
            http?: {
                method?: string;
                path?: string;
                hostname?: string;
            };
        };
        Event: {
            /** @description A ULID. */
            id: string;
            type: string;
            /** Format: date-time */
            createdAt: string;
            /** @description Where it is: for `fromSeq`, `toSeq` and `Last-Event-ID`. Compare for equality only. */
            seq: string;
            /** @description The length of the event as JSON. */
            size: number;
            payload: Record<string, never>;
            source: components["schemas"]["EventSource"];
            target?: components["schemas"]["EventTarget"];
            options?: components["schemas"]["EventOptions"];
            /** @description What failed, on events that tell of a failure. */
            error?: {
                error: string;
                message: string;
                details?: unknown;
                /** @enum {string} */
                level: "warning" | "error" | "fatal";
            };
            /** @description Payload and output were erased by the cleanup. */
            stripped?: boolean;
        };
        EventOptions: {
            /**
             * @description Without it, live readers and triggers only.
             * @default true
             */
            persist?: boolean;
            /**
             * @description Whether typed fields of the payload are aggregated.
             * @default false
             */
            aggPayload?: boolean;
            /**
             * @description Whether a run goes on without waiting for it.
             * @default false
             */
            async?: boolean;
        };
        /** @description Whom an event is for, besides those who may read it anyway. */
        EventTarget: {
            userId?: string;
            sessionId?: string;
            userTopic?: string;
            /** @description Only the socket that started the run. */
            currentSocket?: boolean;
        };
        NewEvent: {
            /** @description Not one that the platform writes itself. */
            type: string;
            /** @description What happened; `{}` when there is none. */
            payload?: Record<string, never> | null;
            target?: components["schemas"]["EventTarget"];
            options?: components["schemas"]["EventOptions"];
        };
        NewEvents: {
            events: components["schemas"]["NewEvent"][];
        };
        /** @description An event in the form of CloudEvents 1.0. */
        CloudEvent: {
            /** @constant */
            specversion: "1.0";
            id: string;
            /** @description The path of the workspace. */
            source: string;
            type: string;
            /** Format: date-time */
            time: string;
            datacontenttype?: string;
            /** @description The position of the event. */
            svcseq?: string;
            svccorrelationid?: string;
            svcuserid?: string;
            svcsessionid?: string;
            svcautomation?: string;
            data: {
                [key: string]: unknown;
            };
        };
        /** @description An error in one of two shapes; clients must accept both. */
        Error: components["schemas"]["FlatError"] | components["schemas"]["NestedError"];
        /** @description The shape of /v2 and of paths without a version. */
        FlatError: {
            error: components["schemas"]["ErrorCode"];
            /** @description For people; it can change. */
            message: string;
            details?: components["schemas"]["ErrorDetails"];
            /** @description The same as x-correlation-id. */
            requestId: string;
        };
        /** @description The shape of /v3. */
        NestedError: {
            error: {
                code: components["schemas"]["ErrorCode"];
                /** @description For people; it can change. */
                message: string;
                details?: components["schemas"]["ErrorDetails"];
                /** @description The same as x-correlation-id. */
                requestId: string;
            };
        };
        /** @description What is known besides. Which members there are depends on the code. */
        ErrorDetails: {
            /** @description A stable sub-code. */
            reason?: string;
            errors?: components["schemas"]["FieldError"][];
            /** @description Where in a YAML body its syntax is wrong. */
            line?: number;
            column?: number;
            /** @description The query, path or header parameter at fault. */
            parameter?: string;
            /** @description What was not found. */
            resource?: string;
            /** @description Under which id it was not found. */
            id?: string;
            /** @description The right that is missing. */
            action?: string;
            /** @description On what it is missing. */
            subject?: string;
            /** @description The scope that is missing. */
            scope?: string;
            /** @description The current tag of what has changed. */
            etag?: string;
            /** @description Seconds to wait. */
            retryAfter?: number;
            /** @description The limit that was exceeded. */
            name?: string;
            /** @description What it allows. */
            limit?: number;
            /** @description In how many seconds. */
            period?: number;
            /**
             * Format: date-time
             * @description When it begins anew.
             */
            resetAt?: string;
            /** @description The size of the body. */
            length?: number;
            /** @description Who holds the lock. */
            lockedBy?: string;
            /**
             * Format: date-time
             * @description Since when.
             */
            lockedAt?: string;
            /**
             * Format: date
             * @description When the API version was retired.
             */
            retiredOn?: string;
            /** @description The API version to use instead. */
            migrateTo?: string;
        };
        FieldError: {
            /** @description A dotted path. */
            field: string;
            message: string;
        };
        /** @enum {string} */
        ErrorCode: "invalid_token" | "missing_token" | "invalid_credentials" | "token_expired" | "permission_denied" | "insufficient_scope" | "workspace_access_denied" | "organization_access_denied" | "resource_not_found" | "resource_already_exists" | "resource_conflict" | "resource_locked" | "invalid_request" | "invalid_parameter" | "missing_parameter" | "validation_failed" | "rate_limit_exceeded" | "quota_exceeded" | "concurrent_request_limit" | "internal_error" | "service_unavailable" | "upstream_failed" | "gateway_timeout" | "database_error";
        Index: {
            /** @enum {string} */
            status: "ok" | "degraded";
            /** @constant */
            name: "svc";
            /** @description Of the build. */
            version: string;
            apiVersions: {
                /** @example v2 */
                version: string;
                /** @enum {string} */
                state: "beta" | "stable" | "deprecated" | "retired";
                revisions: string[];
                /** Format: date */
                retiredOn?: string;
            }[];
            /** Format: date-time */
            time: string;
        };
        Health: {
            /** @constant */
            healthy: true;
        };
        Serving: {
            /** @enum {string} */
            status: "ready" | "error";
        };
        ReadinessReport: {
            /** @enum {string} */
            status: "ready" | "error";
            /** @description One entry for each service that was asked for. */
            services: {
                [key: string]: components["schemas"]["ServiceReport"];
            };
        };
        /** @description `api-gateway` has `modulesReady` itself; the others have `url`, and `response` when they answered. */
        ServiceReport: {
            /** @enum {string} */
            status: "ready" | "error";
            modulesReady?: components["schemas"]["Module"][];
            /** @description Where the service was asked. It holds no credentials. */
            url?: string;
            response?: {
                /** @enum {string} */
                status: "ready" | "error";
                modulesReady: components["schemas"]["Module"][];
            };
            errors?: components["schemas"]["ModuleError"][];
        };
        ServiceExamination: {
            /** @enum {string} */
            status: "ready" | "error";
            modulesReady: components["schemas"]["Module"][];
            errors?: components["schemas"]["ModuleError"][];
        };
        Module: {
            /** @example database */
            module: string;
            /** @example badger */
            driver: string;
        };
        ModuleError: {
            /** @example WriteFailed */
            error: string;
            module: string;
            driver: string;
            message: string;
        };
        Config: {
            settings: {
                /** @example PORT */
                name: string;
                /** @description Masked when secret. */
                value: string;
                /** @example default */
                source: string;
                part?: string;
                /** @description Whether it is read again without a restart. */
                live?: boolean;
                secret?: boolean;
            }[];
            warnings?: string[];
            /** @description Equal on two nodes when the settings that must agree do. */
            digest?: string;
        };
        Logging: {
            /** @enum {string} */
            level: "debug" | "info" | "warn" | "error";
        };
        RebuildReport: {
            /** @description The number of the read models that serve now. */
            generation: number;
            /** @description What they hold, as an `x-svc-seq`. */
            position: string;
            /** @description In milliseconds. */
            duration: number;
        };
        SearchRebuildReport: {
            bases: number;
            documents: number;
            chunks: number;
            /** @description In milliseconds. */
            duration: number;
        };
        VerifyReport: {
            /** @description Whether nothing was found. */
            ok: boolean;
            /** @description What was compared, as an `x-svc-seq`. */
            position: string;
            projections: {
                /** @example workspaces.1 */
                name: string;
                keys: number;
                liveHash: string;
                rebuiltHash: string;
                equal: boolean;
                /** @description The first key that differs, quoted. */
                firstDiff?: string;
            }[];
            logs: {
                /** @enum {string} */
                log: "STATE" | "ACTIVITY";
                first: number;
                last: number;
                messages: number;
                gaps?: {
                    from: number;
                    to: number;
                }[];
            }[];
            /** @description What stopped the verification, when something did. */
            fault?: {
                /** @enum {string} */
                kind: "apply" | "gap" | "unknown" | "store";
                /** @enum {string} */
                log: "STATE" | "ACTIVITY";
                projection?: string;
                from: number;
                to: number;
                message: string;
            };
            /** @description In milliseconds. */
            duration: number;
        };
        /**
         * @example {
         *       "id": "aB3dE7x",
         *       "slug": "web-shop",
         *       "name": "Web shop",
         *       "description": "Orders and their follow-up",
         *       "photo": "https://example.com/shop.png",
         *       "labels": [
         *         "sales",
         *         "team:web"
         *       ],
         *       "dirty": true,
         *       "contentRevision": 42,
         *       "createdAt": "2025-06-01T12:00:00.000Z",
         *       "createdBy": "665a1f2e8b3c4d5e6f708192",
         *       "updatedAt": "2025-06-01T12:00:00.000Z",
         *       "updatedBy": "665a1f2e8b3c4d5e6f708192"
         *     }
         */
        Workspace: {
            /**
             * @description Seven URL-safe characters, or `platform`.
             * @example aB3dE7x
             */
            id: string;
            /** @description Unique on the platform. */
            slug?: string;
            name: string;
            description?: components["schemas"]["Localized"];
            /** @description An http or https URL, or a path that begins with `/`. */
            photo?: string;
            /** @description The same as photo. */
            logo?: string;
            /** @description Given by administrators, by id, without credentials. One of its own with the same id hides it. */
            readonly platformRepositories?: {
                [key: string]: {
                    name: string;
                    /** @enum {string} */
                    type: "git" | "filesystem";
                    /** @enum {string} */
                    mode: "read-write" | "read-only" | "write-only";
                    config: {
                        url?: string;
                        branch?: string;
                        dirpath?: string;
                    };
                    /** @description All that there are. */
                    groups: string[];
                    /**
                     * @description The tests of a workspace must pass before it is pushed there.
                     * @enum {string}
                     */
                    checks?: "required";
                };
            };
            labels: components["schemas"]["Label"][];
            /** @description schema, block and value. */
            config?: Record<string, never>;
            /** @description Declaration of secrets, without values. */
            secrets?: Record<string, never>;
            /** @description By slug. */
            blocks?: Record<string, never>;
            /** @description Types and mapping. */
            events?: Record<string, never>;
            /** @description Providers of language models and defaults; keys are references to secrets. */
            models?: Record<string, never>;
            customDomains?: string[];
            registerWorkspace?: boolean;
            allowUnsecurePages?: boolean;
            /** @description By id. Credentials are `********`. */
            repositories?: Record<string, never>;
            /** @description Whether its content is newer than what was pushed or pulled last. */
            dirty: boolean;
            contentRevision: number;
            lastPush?: components["schemas"]["LastSync"];
            lastPull?: components["schemas"]["LastSync"];
            writeLock?: components["schemas"]["WriteLock"];
            /** @description By slug */
            automations?: {
                [key: string]: Record<string, never>;
            };
            /** @description By slug */
            pages?: {
                [key: string]: Record<string, never>;
            };
            /** @description By slug, without synonyms. */
            knowledgeBases?: {
                [key: string]: Record<string, never>;
            };
            /** @description By slug, without instructions, knowledge and tools. */
            agents?: {
                [key: string]: Record<string, never>;
            };
            /** @description Test suites by slug, without stubs and cases. */
            tests?: {
                [key: string]: Record<string, never>;
            };
            /** @description App instances by slug */
            imports?: {
                [key: string]: Record<string, never>;
            };
            /** @description What the caller may do, by subject. */
            can?: {
                [key: string]: string[];
            };
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        /**
         * @example {
         *       "id": "gpt-5-mini",
         *       "provider": "default",
         *       "kind": "chat",
         *       "context": 128000,
         *       "tools": true,
         *       "origin": "platform",
         *       "default": true
         *     }
         */
        LanguageModel: {
            /** @description Of the provider. Settings and requests name a model as provider/id. */
            id: string;
            provider: string;
            /** @enum {string} */
            kind: "chat" | "embedding";
            /** @description Tokens; absent: unknown. */
            context?: number;
            /** @description Of its vectors; absent: unknown. */
            dimensions?: number;
            /** @description It can call functions. */
            tools: boolean;
            /** @enum {string} */
            origin: "platform" | "workspace";
            /** @description It is used where none is named. */
            default: boolean;
        };
        NewWorkspace: {
            /** @description Without control characters. */
            name: string;
            /** @description Segments of a-z, 0-9 and - joined by /; made up when missing. */
            slug?: string;
            description?: components["schemas"]["Localized"] | null;
            /** @description An http or https URL, or a path that begins with `/`. */
            photo?: string | null;
            /** @description The same as photo. */
            logo?: string | null;
            labels?: components["schemas"]["Label"][] | null;
            /** @description schema, block and value. */
            config?: Record<string, never> | null;
            /** @description schema: declaration of secrets, without values. */
            secrets?: Record<string, never> | null;
            /** @description By slug. */
            blocks?: Record<string, never> | null;
            /** @description Types and mapping. */
            events?: Record<string, never> | null;
            /** @description Providers of language models and defaults. Takes manage_security. Keys only as `{{secret.NAME}}`. */
            models?: Record<string, never> | null;
            /** @description Takes manage_security. */
            customDomains?: string[] | null;
            registerWorkspace?: boolean | null;
            /** @description Takes manage_security. */
            allowUnsecurePages?: boolean | null;
            /** @description By id; replaces all there are. Takes manage_repositories. Credentials are sealed; `********` keeps what was sealed, unless the URL names another server. `{{secret.NAME}}` may stand in any text. */
            repositories?: Record<string, never> | null;
            /** @description Ignored. */
            id?: unknown;
            /** @description Ignored. */
            createdAt?: unknown;
            /** @description Ignored. */
            createdBy?: unknown;
            /** @description Ignored. */
            updatedAt?: unknown;
            /** @description Ignored. */
            updatedBy?: unknown;
            /** @description Ignored. */
            checksum?: unknown;
            /** @description Ignored. */
            permissions?: unknown;
            /** @description Ignored. */
            dirty?: unknown;
            /** @description Ignored. */
            lastPush?: unknown;
            /** @description Ignored. */
            lastPull?: unknown;
            /** @description Ignored. */
            contentRevision?: unknown;
            /** @description Ignored. */
            syncedRevision?: unknown;
            /** @description Ignored. */
            writeLock?: unknown;
            /** @description Ignored. */
            automations?: unknown;
            /** @description Ignored. */
            pages?: unknown;
            /** @description Ignored. */
            knowledgeBases?: unknown;
            /** @description Ignored. */
            agents?: unknown;
            /** @description Ignored. */
            tests?: unknown;
            /** @description Ignored. */
            imports?: unknown;
            /** @description Ignored. */
            platformRepositories?: unknown;
            /** @description Ignored. */
            can?: unknown;
            /** @description Ignored. */
            clientId?: unknown;
            /** @description Ignored. */
            role?: unknown;
        };
        WorkspaceChange: {
            /** @description Without control characters. */
            name?: string;
            /** @description Segments of a-z, 0-9 and - joined by /; made up when missing. */
            slug?: string;
            description?: components["schemas"]["Localized"] | null;
            /** @description An http or https URL, or a path that begins with `/`. */
            photo?: string | null;
            /** @description The same as photo. */
            logo?: string | null;
            labels?: components["schemas"]["Label"][] | null;
            /** @description schema, block and value. */
            config?: Record<string, never> | null;
            /** @description schema: declaration of secrets, without values. */
            secrets?: Record<string, never> | null;
            /** @description By slug. */
            blocks?: Record<string, never> | null;
            /** @description Types and mapping. */
            events?: Record<string, never> | null;
            /** @description Providers of language models and defaults. Takes manage_security. Keys only as `{{secret.NAME}}`. */
            models?: Record<string, never> | null;
            /** @description Takes manage_security. */
            customDomains?: string[] | null;
            registerWorkspace?: boolean | null;
            /** @description Takes manage_security. */
            allowUnsecurePages?: boolean | null;
            /** @description By id; replaces all there are. Takes manage_repositories. Credentials are sealed; `********` keeps what was sealed, unless the URL names another server. `{{secret.NAME}}` may stand in any text. */
            repositories?: Record<string, never> | null;
            /** @description Ignored. */
            id?: unknown;
            /** @description Ignored. */
            createdAt?: unknown;
            /** @description Ignored. */
            createdBy?: unknown;
            /** @description Ignored. */
            updatedAt?: unknown;
            /** @description Ignored. */
            updatedBy?: unknown;
            /** @description Ignored. */
            checksum?: unknown;
            /** @description Ignored. */
            permissions?: unknown;
            /** @description Ignored. */
            dirty?: unknown;
            /** @description Ignored. */
            lastPush?: unknown;
            /** @description Ignored. */
            lastPull?: unknown;
            /** @description Ignored. */
            contentRevision?: unknown;
            /** @description Ignored. */
            syncedRevision?: unknown;
            /** @description Ignored. */
            writeLock?: unknown;
            /** @description Ignored. */
            automations?: unknown;
            /** @description Ignored. */
            pages?: unknown;
            /** @description Ignored. */
            knowledgeBases?: unknown;
            /** @description Ignored. */
            agents?: unknown;
            /** @description Ignored. */
            tests?: unknown;
            /** @description Ignored. */
            imports?: unknown;
            /** @description Ignored. */
            platformRepositories?: unknown;
            /** @description Ignored. */
            can?: unknown;
            /** @description Ignored. */
            clientId?: unknown;
            /** @description Ignored. */
            role?: unknown;
        };
        Label: string;
        OneOrMore: string | string[];
        Rule: {
            action: components["schemas"]["OneOrMore"];
            subject: components["schemas"]["OneOrMore"];
            role?: components["schemas"]["OneOrMore"];
            inverted?: boolean;
            conditions?: Record<string, never>;
            fields?: string[];
            reason?: string;
            priority?: number;
        };
        Security: {
            authorizations?: {
                roles?: {
                    [key: string]: {
                        description?: string;
                        auth?: Record<string, never>;
                    };
                };
                rules?: components["schemas"]["Rule"][];
            };
            authentication?: {
                /** @description Set by the service. */
                clientId?: string;
            };
        };
        RoleMeta: {
            name: string;
            description?: string;
            builtIn: boolean;
        };
        Explanation: {
            allowed: boolean;
            /** @description Where the deciding rule comes from. */
            origin: string;
            /** @description The deciding rule; without one nothing matched. */
            rule?: Record<string, never>;
            /** @description All that matched, in order; the last decides. */
            rules: Record<string, never>[];
        };
        NewApiKey: {
            name: string;
            rules: {
                action: components["schemas"]["OneOrMore"];
                subject: components["schemas"]["OneOrMore"];
                conditions?: Record<string, never>;
            }[];
            /** Format: date-time */
            expiresAt?: string | null;
            disabled?: boolean;
        };
        ApiKey: {
            id: string;
            name: string;
            rules: {
                action: string[];
                subject: string;
                conditions: Record<string, never>;
            }[];
            /** @constant */
            subjectType: "workspaces";
            subjectId: string;
            last4: string;
            disabled?: boolean;
            /** Format: date-time */
            expiresAt?: string;
            /** Format: date-time */
            createdAt: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
            /** Format: date-time */
            lastUsedAt?: string;
            /** @description Only in the answer that creates it. */
            apiKey?: string;
        };
        ShareTarget: {
            /** @description A user. */
            id?: string;
            /** @description A user, by address. Taken, not returned. */
            email?: string;
            /** @description A custom role. */
            role?: string;
            /** @constant */
            public?: true;
            /** @description Set by the service. */
            displayName?: string;
        };
        Share: {
            target: components["schemas"]["ShareTarget"];
            permissions: {
                role?: string;
                policies?: {
                    [key: string]: boolean;
                };
            };
        };
        WorkspaceMeta: {
            id: string;
            name: string;
            slug?: string;
            description?: components["schemas"]["Localized"];
            photo?: string;
            labels: string[];
            customDomains?: string[];
            registerWorkspace?: boolean;
            clientId?: string;
            /** @description The caller's. */
            role?: string;
            dirty: boolean;
            contentRevision: number;
            lastPush?: components["schemas"]["LastSync"];
            lastPull?: components["schemas"]["LastSync"];
            writeLock?: components["schemas"]["WriteLock"];
            /** Format: date-time */
            deletedAt?: string;
            /** Format: date-time */
            restorableUntil?: string;
            /** @description Shown to those who manage them. */
            permissions?: Record<string, never>[];
            /** Format: date-time */
            createdAt: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        SigningKey: {
            kid: string;
            /** @enum {string} */
            state: "next" | "signing" | "retired";
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            rotatesAt?: string;
            /** Format: date-time */
            expiresAt?: string;
        };
        KeyChange: {
            created: string[];
            deleted: string[];
        };
        LoginProviders: {
            localSignin: boolean;
            localSignup: boolean;
            anonymous: boolean;
            providers: {
                slug: string;
                type: string;
                name?: string;
                icon?: string;
            }[];
        };
        Login: {
            email: string;
            password: string;
            totp?: string;
            /** @description Seconds after which the session ends. */
            expiresAfter?: number;
        };
        LoginResult: {
            userId: string;
            /** @description The same as userId. */
            id: string;
            sessionId: string;
            /** @description A JWT. Left out of a replay. */
            token?: string;
            /** Format: date-time */
            expires: string;
        };
        TokenExchange: {
            provider: string;
            subject_token: string;
            subject_token_type?: string;
            expiresAfter?: number;
        };
        /** @description By provider. */
        AuthData: {
            [key: string]: {
                id?: string;
                email?: string;
            };
        };
        User: {
            id: string;
            email?: string;
            firstName: string;
            lastName: string;
            photo?: string;
            language?: string;
            /** @enum {string} */
            status: "pending" | "validated" | "deactivated";
            meta: Record<string, never>;
            authData: components["schemas"]["AuthData"];
            /** @enum {string} */
            mfa: "none" | "totp";
            groups: string[];
            /** @constant */
            role?: "superAdmin";
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        SignedUp: {
            id: string;
            email: string;
            firstName: string;
            lastName: string;
            photo?: string;
            language?: string;
            /** @enum {string} */
            status: "pending" | "validated" | "deactivated";
            meta: Record<string, never>;
            authData: components["schemas"]["AuthData"];
            /** @enum {string} */
            mfa: "none" | "totp";
            groups: string[];
            /** @constant */
            role?: "superAdmin";
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
            /** @enum {string} */
            validation: "auto" | "email" | "manual";
        };
        Me: {
            id: string;
            email?: string;
            firstName: string;
            lastName: string;
            photo?: string;
            language?: string;
            /** @enum {string} */
            status: "pending" | "validated" | "deactivated";
            meta: Record<string, never>;
            authData: components["schemas"]["AuthData"];
            /** @enum {string} */
            mfa: "none" | "totp";
            groups: string[];
            /** @constant */
            role?: "superAdmin";
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
            sessionId: string;
            /** Format: date-time */
            expires: string;
            scopes: string[];
        };
        Signup: {
            email: string;
            password: string;
            firstName: string;
            lastName: string;
            language?: string;
        };
        PasswordChange: {
            email?: string;
            /** @description Of the mail. */
            language?: string;
            token?: string;
            currentPassword?: string;
            password?: string;
        };
        Validation: {
            email?: string;
            token?: string;
        };
        UserProfile: {
            firstName?: string | null;
            lastName?: string | null;
            photo?: string | null;
            language?: string | null;
            meta?: Record<string, never> | null;
        };
        UserPatch: {
            firstName?: string | null;
            lastName?: string | null;
            photo?: string | null;
            language?: string | null;
            meta?: Record<string, never> | null;
            /** @description Super admins only. */
            email?: string | null;
            /**
             * @description Super admins only.
             * @enum {string}
             */
            status?: "pending" | "validated" | "deactivated";
            /** @description Super admins only. */
            groups?: string[] | null;
            /** @description Super admins only. */
            password?: string;
            /**
             * @description Super admins only.
             * @constant
             */
            mfa?: "none";
        };
        NewUser: {
            email: string;
            firstName?: string;
            lastName?: string;
            language?: string;
            groups?: string[];
            /** @description Without it the user is invited by mail. */
            password?: string;
        };
        MfaChange: {
            /** @enum {string} */
            method?: "totp" | "none";
            currentPassword?: string;
            totp?: string;
        };
        MfaSetup: {
            /** @enum {string} */
            method: "totp" | "none";
            secret?: string;
            otpauthUrl?: string;
            /** @description A data URL. */
            qrImage?: string;
        };
        NewAccessToken: {
            name: string;
            /**
             * Format: date-time
             * @description A time to come.
             */
            expiresAt: string;
        };
        AccessToken: {
            /** @description The same as id. */
            _id: string;
            id: string;
            name: string;
            /** Format: date-time */
            expiresAt: string;
            userId: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            lastUsedAt?: string;
            /** @description Only in the answer that creates it. */
            token?: string;
        };
        Session: {
            id: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            lastSeenAt: string;
            /** Format: date-time */
            expires: string;
            ip: string;
            userAgent: string;
            provider: string;
            clientId?: string;
            mfa: boolean;
            current: boolean;
        };
        ContactQuery: {
            email?: string;
            text?: string;
            ids?: string[];
            firstName?: string;
            lastName?: string;
            authProvider?: string;
            /** @enum {string} */
            status?: "pending" | "validated" | "deactivated";
            groups?: string[];
        };
        Contacts: {
            size: number;
            contacts: {
                id: string;
                firstName: string;
                lastName: string;
                photo?: string;
                groups: string[];
                /** @description For super admins. */
                email?: string;
                /**
                 * @description For super admins.
                 * @enum {string}
                 */
                status?: "pending" | "validated" | "deactivated";
                /** @description For super admins. */
                language?: string;
                /** @description For super admins. */
                meta?: Record<string, never>;
                /**
                 * @description For super admins.
                 * @enum {string}
                 */
                mfa?: "none" | "totp";
                /**
                 * @description For super admins.
                 * @constant
                 */
                role?: "superAdmin";
            }[];
        };
        Collection: {
            name: string;
            /** @description The group that it is in. */
            schema: string;
            /** @description The app instance that it belongs to. */
            appInstance?: string;
            rows: number;
            bytes: number;
            /** @description Indexes and uniques, together. */
            indexes: number;
            /** @description Whether it says which fields its rows have. */
            declared: boolean;
        };
        /** @description The fields of an index or a unique. */
        CollectionIndex: string | string[] | {
            properties: string[];
            name?: string;
        };
        CollectionSchema: {
            collection: string;
            /** @description The fields, each with its type and what its values must be. */
            properties: Record<string, never>;
            indexes: components["schemas"]["CollectionIndex"][];
            uniques: components["schemas"]["CollectionIndex"][];
            /** @constant */
            declared?: false;
        };
        NewCollectionSchema: {
            /** @description Ignored. */
            collection?: string;
            /**
             * @description A field is a type, or an object with `type` (string, text, date, time, datetime, number, double, float, integer, decimal,
             *     boolean, uint8array, blob, array, enum, enumArray, json) and `required`, `enum`, `minimum`, `maximum`, `minLength`,
             *     `maxLength`, `pattern`, `format`, `default`; `title` and `description` are for people. Another keyword is 422.
             */
            properties: Record<string, never>;
            indexes?: components["schemas"]["CollectionIndex"][];
            uniques?: components["schemas"]["CollectionIndex"][];
            /** @description The name of the collection before. */
            oldCollection?: string;
            /** @description The group that it was in before. */
            oldSchema?: string;
        };
        /** @description A row of a collection. The fields named here are the platform's; `droppedFields` is in the answer of a write. */
        Row: {
            id?: string;
            createdAt?: string;
            updatedAt?: string;
            createdBy?: string | null;
            updatedBy?: string | null;
            /** @description The fields that were not stored. */
            droppedFields?: unknown;
        };
        RowQuery: {
            /** @description A condition on rows. */
            query?: Record<string, never>;
            /** @description Fields and 1 or -1, or their names by comma. */
            sort?: Record<string, never> | string;
            /** @description Names, or an object of names and 1 or 0. */
            fields?: Record<string, never> | string[];
            /** @default 1000 */
            limit?: number;
            /** @default 0 */
            skip?: number;
            /** @description Steps. */
            aggregate?: Record<string, never>[];
        };
        FoundRows: {
            rows: unknown[];
            /** @description How many meet the query; not of an aggregate. */
            total?: number;
        };
        RowFile: {
            /** @description Before the file. */
            dryRun?: boolean;
            /** @description Before the file. */
            onConflictFields?: string;
            /** Format: binary */
            file: string;
        };
        ImportedRows: {
            inserted: number;
            updated: number;
            /** @description Rows that are what the file says already. */
            unchanged?: number;
            errors: {
                line: number;
                field?: string;
                message: string;
            }[];
            /** @description Lines at fault when there are more than are shown. */
            errorsCount?: number;
            /** @description Fields that are not declared and were not stored. */
            droppedFields?: string[];
        };
        File: {
            id: string;
            name: string;
            /** @description Where it is downloaded. */
            url: string;
            /** @description What the bytes are. */
            mimetype: string;
            /** @description Bytes. */
            size: number;
            workspaceId: string;
            /** @description `{workspaceId}/{id}.{name}` */
            path: string;
            /** @description Whether anyone may download it. */
            public: boolean;
            /** @description Whatever its owner notes about it. */
            metadata: Record<string, never>;
            /**
             * Format: date-time
             * @description When it is gone.
             */
            expiresAt?: string;
            /** @description The seconds that it was given. */
            expiresAfter?: number;
            /** @description Opens the file as `token`. Shown to those who may update the file. */
            shareToken?: string;
            /** @description SHA-256, in hex. */
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        FileChange: {
            /** @description Without slashes, control characters and characters that change the direction of text. */
            name?: string;
            /** @description Seconds from now on; 0 or null for ever. */
            expiresAfter?: number | null;
            public?: boolean;
            /** @description `true` for a new one, `false` or null for none, or 16 to 128 letters, digits, `-` and `_`. */
            shareToken?: boolean | string | null;
            /** @description At most 100 fields and 32 KB together. */
            metadata?: Record<string, never> | null;
            /** @description Ignored. */
            id?: unknown;
            /** @description Ignored. */
            url?: unknown;
            /** @description Ignored. */
            mimetype?: unknown;
            /** @description Ignored. */
            size?: unknown;
            /** @description Ignored. */
            workspaceId?: unknown;
            /** @description Ignored. */
            path?: unknown;
            /** @description Ignored. */
            expiresAt?: unknown;
            /** @description Ignored. */
            checksum?: unknown;
            /** @description Ignored. */
            createdAt?: unknown;
            /** @description Ignored. */
            createdBy?: unknown;
            /** @description Ignored. */
            updatedAt?: unknown;
            /** @description Ignored. */
            updatedBy?: unknown;
        };
        /** @description Files under any names, and about all of them. */
        NewFiles: {
            /** @description Seconds; 0 for ever. */
            expiresAfter?: number;
            /** @description Without it, as `UPLOADS_DEFAULT_VISIBILITY` says. */
            public?: boolean;
            /** @description `true` for a new one, or a token of 16 to 128 letters, digits, `-` and `_`. */
            shareToken?: string;
            /** @description A JSON object. Single fields may come as `metadata.{key}`. */
            metadata?: string;
        } & {
            [key: string]: string;
        };
        FileLink: {
            /** @description Where the file is downloaded with it. */
            url: string;
            /** Format: date-time */
            expiresAt: string;
            /** @description Seconds. */
            expiresIn: number;
        };
        /** @description A text, or one for each of some languages. */
        Localized: string | {
            [key: string]: string;
        };
        /** @description A text, or one for each of some languages; null removes it. */
        LocalizedOrNull: string | {
            [key: string]: string;
        } | null;
        DeletedId: {
            id: string;
        };
        WriteLock: {
            reason: string;
            lockedBy: string;
            /** Format: date-time */
            lockedAt: string;
            /**
             * Format: date-time
             * @description Absent for a merge conflict.
             */
            expiresAt?: string;
            epoch: number;
            operation?: {
                id?: string;
                kind?: string;
            };
        };
        LastSync: {
            version?: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            repositoryId?: string;
            digest?: string;
        };
        LocalizedText: string | {
            [key: string]: string;
        };
        IdAndSlug: {
            id: string;
            slug: string;
        };
        DocumentFault: {
            field: string;
            message: string;
            /** @description Of a YAML body. */
            line?: number;
            column?: number;
        };
        Problem: {
            /** @description The path of a document, `index`, or `repositories/{id}`. */
            object: string;
            field: string;
            message: string;
            /** @description In the file of the document as it is exported. */
            line?: number;
            /** @description The secret that has no value, where that is the problem. */
            secret?: string;
            /** @enum {string} */
            severity: "error" | "warning";
        };
        References: {
            /**
             * @description The path of an automation or a page.
             * @example automations/charge
             */
            object: string;
            /** @description The automations that it calls or runs, each once; those of an app instance as `{instance}.{slug}`. */
            calls: components["schemas"]["Reference"][];
            /** @description The types of events, or patterns, that start it or that it waits for, each once. Pages have none. */
            listens: components["schemas"]["Reference"][];
            /** @description The types of events that it emits. */
            emits: string[];
            /** @description What types of events begin with that are computed when it runs; empty text for any. */
            emitsLike: string[];
        };
        Reference: {
            name: string;
            /**
             * @description Where it is used first.
             * @example do[2].charge
             */
            field: string;
        };
        Wait: {
            id: string;
            /** @description That of the run. */
            correlationId: string;
            automation: string;
            /** @description Who caused the run: a user, or `key:{id}` for an API key; absent for visitors and schedules. */
            startedBy?: string;
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            until?: string;
            /** @description Empty when it waits for time to pass. */
            waitsFor: {
                event: string;
                filters?: Record<string, never>;
            }[];
        };
        /** @description The answer to a dry run. */
        DocumentVerdict: {
            errors: components["schemas"]["DocumentFault"][];
            warnings: components["schemas"]["DocumentFault"][];
            schedules?: {
                cron: string;
                next: string[];
            }[];
        };
        NewApp: {
            /** @description The id of a workspace, or `slug:{slug}`. */
            workspaceId: string;
            /** @description Absent or `current`: as the workspace is now. */
            workspaceVersion?: string;
            /** @description Needed the first time. */
            slug?: string;
            name?: components["schemas"]["LocalizedText"];
            description?: components["schemas"]["LocalizedText"];
        };
        App: {
            slug: string;
            /** @description The slug. */
            id: string;
            workspaceId: string;
            name?: components["schemas"]["LocalizedText"];
            description?: components["schemas"]["LocalizedText"];
            photo?: string;
            labels?: components["schemas"]["Label"][];
            documentation?: {
                workspaceSlug: string;
                slug: string;
            };
            /** @description The newest first. */
            versions: {
                name: string;
                contentRevision: number;
                /** Format: date-time */
                createdAt: string;
                createdBy: string;
            }[];
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** Format: date-time */
            updatedAt: string;
            updatedBy: string;
        };
        AppDetail: {
            slug: string;
            /** @description The slug. */
            id: string;
            workspaceId: string;
            name?: components["schemas"]["LocalizedText"];
            description?: components["schemas"]["LocalizedText"];
            photo?: string;
            labels?: components["schemas"]["Label"][];
            documentation?: {
                workspaceSlug: string;
                slug: string;
            };
            /** @description The newest first. */
            versions: {
                name: string;
                contentRevision: number;
                /** Format: date-time */
                createdAt: string;
                createdBy: string;
            }[];
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** Format: date-time */
            updatedAt: string;
            updatedBy: string;
            config?: components["schemas"]["AppConfig"];
            automations: components["schemas"]["AppAutomation"][];
            blocks: components["schemas"]["AppBlock"][];
            events: components["schemas"]["AppEvents"];
        };
        AppConfig: {
            schema?: Record<string, never>;
            block?: string | Record<string, never>;
        };
        AppAutomation: {
            slug: string;
            name: components["schemas"]["LocalizedText"];
            description?: components["schemas"]["LocalizedText"];
            arguments: Record<string, never>;
        };
        AppBlock: {
            slug: string;
            url?: string;
            edit?: unknown;
            name?: components["schemas"]["LocalizedText"];
            description?: components["schemas"]["LocalizedText"];
        };
        AppEvents: {
            emit: string[];
            listen: string[];
            autocomplete: Record<string, never>[];
        };
        NewAppInstance: {
            appSlug: string;
            slug?: string;
            /** @description Absent: follows what is published. */
            appVersion?: string;
            disabled?: boolean;
            labels?: components["schemas"]["Label"][];
            /** @description An object, or `{{config}}`, or a part of it. */
            config?: Record<string, never> | string;
            /** @description Ignored. */
            id?: unknown;
            /** @description Ignored. */
            appName?: unknown;
            /** @description Ignored. */
            photo?: unknown;
            /** @description Ignored. */
            automations?: unknown;
            /** @description Ignored. */
            events?: unknown;
            /** @description Ignored. */
            blocks?: unknown;
            /** @description Ignored. */
            missing?: unknown;
            /** @description Ignored. */
            checksum?: unknown;
            /** @description Ignored. */
            createdAt?: unknown;
            /** @description Ignored. */
            createdBy?: unknown;
            /** @description Ignored. */
            updatedAt?: unknown;
            /** @description Ignored. */
            updatedBy?: unknown;
            /** @description Ignored. */
            permissions?: unknown;
        };
        AppInstanceChange: {
            appSlug?: string;
            slug?: string | null;
            /** @description Absent: follows what is published. */
            appVersion?: string | null;
            disabled?: boolean | null;
            labels?: components["schemas"]["Label"][] | null;
            /** @description An object, or `{{config}}`, or a part of it. */
            config?: Record<string, never> | string | null;
            /** @description Ignored. */
            id?: unknown;
            /** @description Ignored. */
            appName?: unknown;
            /** @description Ignored. */
            photo?: unknown;
            /** @description Ignored. */
            automations?: unknown;
            /** @description Ignored. */
            events?: unknown;
            /** @description Ignored. */
            blocks?: unknown;
            /** @description Ignored. */
            missing?: unknown;
            /** @description Ignored. */
            checksum?: unknown;
            /** @description Ignored. */
            createdAt?: unknown;
            /** @description Ignored. */
            createdBy?: unknown;
            /** @description Ignored. */
            updatedAt?: unknown;
            /** @description Ignored. */
            updatedBy?: unknown;
            /** @description Ignored. */
            permissions?: unknown;
        };
        AppInstance: {
            appSlug: string;
            slug: string;
            /** @description Absent: follows what is published. */
            appVersion?: string;
            disabled?: boolean;
            labels?: components["schemas"]["Label"][];
            /** @description Secrets are `********`. */
            config?: Record<string, never>;
            /** @description What passes a config of the workspace on; config is empty then. */
            template?: string;
            appName?: string;
            checksum: string;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** Format: date-time */
            updatedAt: string;
            updatedBy: string;
        };
        AppInstanceDetail: {
            appSlug: string;
            slug: string;
            /** @description Absent: follows what is published. */
            appVersion?: string;
            disabled?: boolean;
            labels?: components["schemas"]["Label"][];
            appName?: string;
            photo?: string;
            automations: components["schemas"]["AppAutomation"][];
            blocks: components["schemas"]["AppBlock"][];
            events: components["schemas"]["AppEvents"];
            /** @description The app, or its version, is not there any more. */
            missing?: boolean;
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        AppInstanceRead: {
            appSlug: string;
            slug: string;
            /** @description Absent: follows what is published. */
            appVersion?: string;
            disabled?: boolean;
            labels?: components["schemas"]["Label"][];
            appName?: string;
            photo?: string;
            automations: components["schemas"]["AppAutomation"][];
            blocks: components["schemas"]["AppBlock"][];
            events: components["schemas"]["AppEvents"];
            /** @description The app, or its version, is not there any more. */
            missing?: boolean;
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
            config: {
                schema?: Record<string, never>;
                block?: string | Record<string, never>;
                /** @description Secrets are `********`. */
                value: Record<string, never>;
                /** @description What passes a config of the workspace on; value is empty then. */
                template?: string;
            };
        };
        Automation: {
            name: components["schemas"]["Localized"];
            slug: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /** @description Typed fields by name. */
            arguments?: Record<string, never>;
            schemas?: Record<string, never>[];
            validateArguments?: boolean;
            /** @description events, schedules and endpoint. */
            when?: Record<string, never>;
            do?: Record<string, never>[] | null;
            output?: unknown;
            authorizations?: Record<string, never>;
            private?: boolean;
            disabled?: boolean;
            /** @description What it emits and listens to. */
            events?: Record<string, never>;
            checksum: string;
            /** @description In the answer of a write: what is likely wrong with it. */
            warnings?: components["schemas"]["DocumentFault"][];
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        AutomationMeta: {
            name: components["schemas"]["Localized"];
            slug: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /** @description Typed fields by name. */
            arguments?: Record<string, never>;
            schemas?: Record<string, never>[];
            validateArguments?: boolean;
            /** @description events, schedules and endpoint. */
            when?: Record<string, never>;
            private?: boolean;
            disabled?: boolean;
            /** @description What it emits and listens to. */
            events?: Record<string, never>;
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        NewAutomation: {
            name: components["schemas"]["Localized"];
            slug?: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /** @description Typed fields by name. */
            arguments?: Record<string, never>;
            schemas?: Record<string, never>[];
            validateArguments?: boolean;
            /** @description events, schedules and endpoint. */
            when?: Record<string, never>;
            do: Record<string, never>[] | null;
            output?: unknown;
            authorizations?: Record<string, never>;
            private?: boolean;
            disabled?: boolean;
        };
        AutomationChange: {
            name?: components["schemas"]["Localized"];
            slug?: string | null;
            description?: components["schemas"]["LocalizedOrNull"];
            labels?: components["schemas"]["Label"][] | null;
            /** @description Typed fields by name. */
            arguments?: Record<string, never> | null;
            schemas?: Record<string, never>[] | null;
            validateArguments?: boolean | null;
            /** @description events, schedules and endpoint. */
            when?: Record<string, never> | null;
            do?: Record<string, never>[] | null;
            output?: unknown;
            authorizations?: Record<string, never> | null;
            private?: boolean | null;
            disabled?: boolean | null;
        };
        PageMeta: {
            name: components["schemas"]["Localized"];
            slug: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            redirect?: Record<string, never>;
            /** @enum {string} */
            colorScheme?: "auto" | "light" | "dark";
            favicon?: string;
            blocks?: Record<string, never>[];
            id: string;
            workspaceId?: string;
            workspaceSlug?: string;
            public: boolean;
            /** @description What it emits and listens to. */
            events?: Record<string, never>;
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        PageDetail: {
            name: components["schemas"]["Localized"];
            slug: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            redirect?: Record<string, never>;
            /** @enum {string} */
            colorScheme?: "auto" | "light" | "dark";
            favicon?: string;
            blocks?: Record<string, never>[];
            styles?: string;
            onInit?: string | Record<string, never>;
            updateOn?: string;
            notifyOn?: string;
            automation?: string | Record<string, never>;
            id: string;
            workspaceId: string;
            workspaceSlug?: string;
            public: boolean;
            customDomains?: string[];
            /** @description The client that its visitors sign in with. */
            clientId?: string;
            /** @description Blocks by app instance; those of the workspace under no name. */
            appInstances?: {
                slug: string;
                blocks: {
                    [key: string]: components["schemas"]["Block"];
                };
            }[];
            /** @description To those who manage them. */
            permissions?: components["schemas"]["Share"][];
            /** @description What it emits and listens to. */
            events?: Record<string, never>;
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        NewPage: {
            name: components["schemas"]["Localized"];
            slug?: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            redirect?: Record<string, never>;
            /** @enum {string} */
            colorScheme?: "auto" | "light" | "dark";
            favicon?: string;
            blocks?: Record<string, never>[];
            styles?: string;
            onInit?: string | Record<string, never>;
            updateOn?: string;
            notifyOn?: string;
            automation?: string | Record<string, never>;
        };
        PageDraft: {
            /** @description A page as it would be saved. Its slug may be absent, or that of the page it would replace. */
            page: Record<string, never>;
            /** @description Such as fr or fr-CA. Without it the browser decides. */
            language?: string;
            /**
             * @description Run those of the page and its blocks, as the caller.
             * @default false
             */
            automations?: boolean;
        };
        PageInteraction: {
            /** @description The view, as `data-view` of the page has it. */
            view: string;
            /** @description The block, as its `data-block`; empty for the page. */
            block: string;
            /** @description What is done: `action`, `onSubmit`, `onInit`, `pagination`, or the path of an action in the configuration of the block. */
            on: string;
            /** @description What the visitor supplies. */
            values?: Record<string, never>;
            /** @description Names the tab. */
            socket?: string;
        };
        PageChange: {
            name?: components["schemas"]["Localized"];
            slug?: string | null;
            description?: components["schemas"]["LocalizedOrNull"];
            labels?: components["schemas"]["Label"][] | null;
            redirect?: Record<string, never> | null;
            /** @enum {string|null} */
            colorScheme?: "auto" | "light" | "dark" | null;
            favicon?: string | null;
            blocks?: Record<string, never>[] | null;
            styles?: string | null;
            onInit?: string | Record<string, never> | null;
            updateOn?: string | null;
            notifyOn?: string | null;
            automation?: string | Record<string, never> | null;
        };
        /** @description A test suite. Lists do not show stubs and cases. */
        Test: {
            name?: components["schemas"]["Localized"];
            slug: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /** @description The automation, by its slug. */
            automation: string;
            stubs?: components["schemas"]["TestStubs"];
            cases?: components["schemas"]["TestCase"][];
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        NewTest: {
            name?: components["schemas"]["Localized"];
            slug?: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /** @description The automation, by its slug. */
            automation: string;
            stubs?: components["schemas"]["TestStubs"];
            cases?: components["schemas"]["TestCase"][];
        };
        TestChange: {
            name?: components["schemas"]["LocalizedOrNull"];
            slug?: string | null;
            description?: components["schemas"]["LocalizedOrNull"];
            labels?: components["schemas"]["Label"][] | null;
            /** @description The automation, by its slug. */
            automation?: string;
            stubs?: components["schemas"]["TestStubs"] | null;
            cases?: components["schemas"]["TestCase"][];
        };
        /** @description What an automation gets from outside: now, random, fetch, modules, events, secrets, config, contexts, collections. See /v2/schemas/test. */
        TestStubs: Record<string, never>;
        /** @description See /v2/schemas/test. */
        TestCase: {
            /** @description What is so in this case. */
            name: string;
            /** @description The arguments of a call. */
            input?: Record<string, never>;
            /** @description A request to its endpoint. */
            request?: Record<string, never>;
            /** @description An event that it listens to. */
            event?: Record<string, never>;
            /** @description Who starts it. */
            user?: Record<string, never>;
            session?: string;
            stubs?: components["schemas"]["TestStubs"];
            /** @description Status, error, output, outputMatches, events, fetches, chunks, contexts, collections. */
            expect?: Record<string, never>;
        };
        TestReport: {
            passed: number;
            failed: number;
            /** @description ms */
            duration: number;
            suites: {
                slug: string;
                automation: string;
                cases: components["schemas"]["TestCaseReport"][];
            }[];
        };
        TestCaseReport: {
            name: string;
            /** @enum {string} */
            status: "passed" | "failed";
            /** @description ms */
            duration: number;
            differences: components["schemas"]["TestDifference"][];
            /** @description Status, error, output, events, fetches and logs of a case that failed. */
            actual?: Record<string, never>;
        };
        TestDifference: {
            /** @description Such as output.total or events[1].payload.id. */
            path: string;
            message: string;
            /** @description Absent when nothing was expected. */
            expected?: unknown;
            /** @description Absent when there was nothing. */
            got?: unknown;
        };
        DraftCheck: {
            automation: string;
            same: number;
            different: number;
            skipped: number;
            runs: {
                correlationId: string;
                /** Format: date-time */
                startedAt: string;
                /** @enum {string} */
                status: "same" | "different" | "skipped";
                /** @description Why it was skipped. */
                reason?: string;
                differences: components["schemas"]["TestDifference"][];
            }[];
        };
        TestFromRuns: {
            test: components["schemas"]["NewTest"];
            cases: number;
            skipped: {
                correlationId: string;
                reason: string;
            }[];
        };
        Agent: {
            name: components["schemas"]["Localized"];
            slug: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /** @description Only those who may change it can execute it. */
            disabled?: boolean;
            /** @description For the model. {{config.x}}, {{user.id}}, {{user.email}}, {{run.date}} and {{context.x}} are filled in. */
            instructions: string;
            /** @description provider/model, or a model; absent: the default. */
            model?: string;
            /** @description 0.2 without it. */
            temperature: number;
            /** @description Of an answer; 1000 without it. */
            maxTokens: number;
            knowledge?: components["schemas"]["AgentKnowledge"][];
            tools?: components["schemas"]["AgentTool"][];
            memory: components["schemas"]["AgentMemory"];
            limits: components["schemas"]["AgentLimits"];
            id: string;
            /** @description Everyone may execute it. */
            public: boolean;
            published?: components["schemas"]["AgentPublication"];
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
            /** @description With whom it is shared, for those who manage that. */
            permissions?: components["schemas"]["Share"][];
            /** @description Of an agent that was saved: what is likely wrong with it. */
            warnings?: Record<string, never>[];
        };
        AgentMeta: {
            name: components["schemas"]["Localized"];
            slug: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /** @description Only those who may change it can execute it. */
            disabled?: boolean;
            /** @description provider/model, or a model; absent: the default. */
            model?: string;
            /** @description 0.2 without it. */
            temperature?: number;
            /** @description Of an answer; 1000 without it. */
            maxTokens?: number;
            memory?: components["schemas"]["AgentMemory"];
            limits?: components["schemas"]["AgentLimits"];
            id: string;
            /** @description Everyone may execute it. */
            public: boolean;
            published?: components["schemas"]["AgentPublication"];
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        NewAgent: {
            name: components["schemas"]["Localized"];
            slug?: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /** @description Only those who may change it can execute it. */
            disabled?: boolean;
            /** @description For the model. {{config.x}}, {{user.id}}, {{user.email}}, {{run.date}} and {{context.x}} are filled in. */
            instructions: string;
            /** @description provider/model, or a model; absent: the default. */
            model?: string;
            /** @description 0.2 without it. */
            temperature?: number;
            /** @description Of an answer; 1000 without it. */
            maxTokens?: number;
            knowledge?: components["schemas"]["AgentKnowledge"][];
            tools?: components["schemas"]["AgentTool"][];
            memory?: components["schemas"]["AgentMemory"];
            limits?: components["schemas"]["AgentLimits"];
        };
        AgentChange: {
            name?: components["schemas"]["Localized"];
            slug?: string | null;
            description?: components["schemas"]["LocalizedOrNull"];
            labels?: components["schemas"]["Label"][] | null;
            /** @description Only those who may change it can execute it. */
            disabled?: boolean | null;
            /** @description For the model. {{config.x}}, {{user.id}}, {{user.email}}, {{run.date}} and {{context.x}} are filled in. */
            instructions?: string;
            /** @description provider/model, or a model; absent: the default. */
            model?: string | null;
            /** @description 0.2 without it. */
            temperature?: number | null;
            /** @description Of an answer; 1000 without it. */
            maxTokens?: number | null;
            knowledge?: components["schemas"]["AgentKnowledge"][] | null;
            tools?: components["schemas"]["AgentTool"][] | null;
            memory?: components["schemas"]["AgentMemory"] | null;
            limits?: components["schemas"]["AgentLimits"] | null;
        };
        /** @description What callers get. */
        AgentPublication: {
            /** @description How often it was published. */
            number: number;
            /** Format: date-time */
            at: string;
            by: string;
            /** @description The draft is what is published. */
            current: boolean;
        };
        AgentKnowledge: {
            /** @description The slug of a knowledge base. */
            base: string;
            /** @description Which documents, as in a search. */
            filters?: Record<string, never>;
            /** @description 6 without it. */
            topK?: number;
            /**
             * @description When the model asks for it, or with each message. tool without it.
             * @enum {string}
             */
            when?: "tool" | "always";
            /**
             * @description caller: documents that the caller may read. agent: all within the filters, for whoever may execute the agent. caller without it.
             * @enum {string}
             */
            access?: "caller" | "agent";
        };
        /** @description An automation, or the functions of an MCP server. */
        AgentTool: {
            automation?: string;
            /** @description How the model calls it; absent: by the slug. */
            name?: string;
            description?: components["schemas"]["Localized"];
            /** @description Fixed values, unseen by the model, that win over what it sends. */
            arguments?: Record<string, never>;
            mcp?: {
                url: string;
                headers?: {
                    [key: string]: string;
                };
                tools?: string[];
            };
            /**
             * @description A call waits until the author of the conversation approves it.
             * @enum {string}
             */
            approval?: "always";
        };
        AgentMemory: {
            /** @description The last messages of the conversation; 20 without it. */
            messages?: number;
        };
        /** @description For one message. */
        AgentLimits: {
            /** @description 10 without it. */
            steps?: number;
            /** @description 20 without it. */
            toolCalls?: number;
            /** @description 120 without it. */
            seconds?: number;
            /** @description 50000 without it. */
            tokens?: number;
        };
        KnowledgeBase: {
            name: components["schemas"]["Localized"];
            /** @description Neither search nor ask. */
            slug: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /**
             * @description Of documents that name none and whose text does not tell. auto without it.
             * @enum {string}
             */
            language: "auto" | "ar" | "ckb" | "cjk" | "da" | "de" | "en" | "es" | "fa" | "fi" | "fr" | "hi" | "hr" | "hu" | "it" | "nl" | "no" | "pl" | "pt" | "ro" | "ru" | "sv" | "tr";
            chunking: components["schemas"]["KnowledgeChunking"];
            search: components["schemas"]["KnowledgeSearchDefaults"];
            /** @description Groups of words that searches take for the same. */
            synonyms?: string[][];
            /** @description The model that turns passages into vectors. */
            embedding?: {
                model: string;
                dimensions?: number;
            };
            answer: components["schemas"]["KnowledgeAnswerDefaults"];
            sources?: components["schemas"]["KnowledgeSources"];
            id: string;
            counts?: components["schemas"]["KnowledgeCounts"];
            index?: components["schemas"]["KnowledgeIndex"];
            /** @description With whom it is shared, for those who manage that. */
            permissions?: components["schemas"]["Share"][];
            checksum: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
        };
        KnowledgeDocument: {
            id: string;
            /** @description The slug of its base. */
            knowledgeBase: string;
            /** @enum {string} */
            source: "file" | "text" | "url" | "crawl";
            url?: string;
            fileId?: string;
            /** @description The source that it was found on. */
            sourceId?: string;
            key?: string;
            name: string;
            title: string;
            language: string;
            mimetype: string;
            size: number;
            tags: string[];
            metadata: Record<string, never>;
            /** @enum {string} */
            status: "pending" | "processing" | "ready" | "error";
            /** @enum {string} */
            vectors: "none" | "pending" | "ready" | "error";
            error?: {
                reason: string;
                message: string;
            };
            /** @description SHA-256 of the content. */
            hash?: string;
            /** @description SHA-256 of the text that is searched. */
            textHash?: string;
            revision: number;
            /** @description Of the text that is searched. */
            chunks: number;
            /** @description Of the text that is searched. */
            characters: number;
            truncated?: boolean;
            warnings: string[];
            /** @description Some revision can be found, also while a newer one is processed or has failed. */
            searchable: boolean;
            /** Format: date-time */
            expiresAt?: string;
            /** Format: date-time */
            indexedAt?: string;
            /**
             * Format: date-time
             * @description When its address was loaded last.
             */
            checkedAt?: string;
            /** Format: date-time */
            createdAt?: string;
            createdBy?: string;
            /** Format: date-time */
            updatedAt?: string;
            updatedBy?: string;
            /** @description The document had this content already. Of an address that is known once it was loaded, which `wait` waits for. */
            unchanged?: boolean;
        };
        KnowledgeSearch: {
            /** @description Words of which any may match, "a phrase", +must, -not, pre*. * alone: all documents. */
            query: string;
            /** @enum {string} */
            mode?: "auto" | "text" | "vector" | "hybrid";
            /** @description Conditions of automations on fields of documents. */
            filters?: Record<string, never>;
            facets?: {
                [key: string]: {
                    field: string;
                    /** @default 10 */
                    size?: number;
                    ranges?: {
                        name?: string;
                        /** @description The first value that is in it. */
                        from?: number | string | null;
                        /** @description The first value that is not in it. */
                        to?: number | string | null;
                    }[];
                };
            };
            /**
             * @default document
             * @enum {string}
             */
            group?: "document" | "chunk";
            /**
             * @description Of one document.
             * @default 3
             */
            passages?: number;
            limit?: number;
            page?: number;
            minSimilarity?: number;
            weights?: {
                text?: number;
                vector?: number;
            };
            /** @default true */
            highlight?: boolean;
            /** @description Also words that are spelt a little differently. Without it, when nothing else was found. */
            fuzzy?: boolean;
        };
        KnowledgeSearches: {
            /** @description Slugs; without it, all bases that the caller may read documents of. */
            knowledgeBases?: string[];
            /** @description Words of which any may match, "a phrase", +must, -not, pre*. * alone: all documents. */
            query: string;
            /** @enum {string} */
            mode?: "auto" | "text" | "vector" | "hybrid";
            /** @description Conditions of automations on fields of documents. */
            filters?: Record<string, never>;
            facets?: {
                [key: string]: {
                    field: string;
                    /** @default 10 */
                    size?: number;
                    ranges?: {
                        name?: string;
                        /** @description The first value that is in it. */
                        from?: number | string | null;
                        /** @description The first value that is not in it. */
                        to?: number | string | null;
                    }[];
                };
            };
            /**
             * @default document
             * @enum {string}
             */
            group?: "document" | "chunk";
            /**
             * @description Of one document.
             * @default 3
             */
            passages?: number;
            limit?: number;
            page?: number;
            minSimilarity?: number;
            weights?: {
                text?: number;
                vector?: number;
            };
            /** @default true */
            highlight?: boolean;
            /** @description Also words that are spelt a little differently. Without it, when nothing else was found. */
            fuzzy?: boolean;
        };
        KnowledgeSearchAnswer: {
            /** @description Documents that match and that the caller may read. */
            total: number;
            /** @enum {string} */
            mode: "text" | "vector" | "hybrid";
            fuzzy?: boolean;
            /** @description In milliseconds. */
            took: number;
            approximate?: boolean;
            warnings?: string[];
            results: components["schemas"]["KnowledgeSearchResult"][];
            facets?: {
                [key: string]: {
                    buckets: {
                        key: unknown;
                        count: number;
                    }[];
                    other: number;
                    missing: number;
                };
            };
        };
        KnowledgeSearchResult: {
            document: {
                id: string;
                key?: string;
                name: string;
                title: string;
                url?: string;
                /** @description The slug of its base. */
                knowledgeBase: string;
                /** @enum {string} */
                source: "file" | "text" | "url" | "crawl";
                tags: string[];
                metadata: Record<string, never>;
                language: string;
                mimetype: string;
                /** Format: date-time */
                updatedAt: string;
            };
            score: number;
            scores: {
                text?: number;
                vector?: number;
            };
            /** @description Escaped; only matches are within `<mark>`. */
            titleHtml?: string;
            passages: {
                /** @description The number of the passage in its document. */
                chunk: number;
                text: string;
                headings: string[];
                page?: number;
                from: number;
                to: number;
                score: number;
                /** @description Escaped; only matches are within `<mark>`. */
                html?: string;
            }[];
        };
        KnowledgeQuestion: {
            question: string;
            /** @description Conditions of automations on fields of documents. */
            filters?: Record<string, never>;
            /** @enum {string} */
            mode?: "auto" | "text" | "vector" | "hybrid";
            /** @description Passages that are searched for. */
            topK?: number;
            minSimilarity?: number;
            /** @description provider/model, or the id of a model; without it that of the base, else the default. */
            model?: string;
            /** @description For the model, after those of the base. */
            instructions?: string;
            temperature?: number;
            /** @description Of the answer. */
            maxTokens?: number;
            /** @description Earlier messages, the oldest first. */
            history?: {
                /** @enum {string} */
                role: "user" | "assistant";
                content: string;
            }[];
            /** @default false */
            stream?: boolean;
        };
        KnowledgeQuestions: {
            /** @description Slugs; without it, all bases that the caller may read documents of. */
            knowledgeBases?: string[];
            question: string;
            /** @description Conditions of automations on fields of documents. */
            filters?: Record<string, never>;
            /** @enum {string} */
            mode?: "auto" | "text" | "vector" | "hybrid";
            /** @description Passages that are searched for. */
            topK?: number;
            minSimilarity?: number;
            /** @description provider/model, or the id of a model; without it that of the base, else the default. */
            model?: string;
            /** @description For the model, after those of the base. */
            instructions?: string;
            temperature?: number;
            /** @description Of the answer. */
            maxTokens?: number;
            /** @description Earlier messages, the oldest first. */
            history?: {
                /** @enum {string} */
                role: "user" | "assistant";
                content: string;
            }[];
            /** @default false */
            stream?: boolean;
        };
        KnowledgeAnswer: {
            /** @description Untrusted Markdown. It cites sources as [n]. */
            answer: string;
            /** @description It cites a source. */
            grounded: boolean;
            citations: {
                n: number;
                documentId: string;
                /** @description The slug of its base. */
                knowledgeBase: string;
                name: string;
                title: string;
                url?: string;
                /** @description The number of the passage in its document. */
                chunk: number;
                page?: number;
                /** @description The beginning of the passage. */
                quote: string;
            }[];
            usage: {
                promptTokens: number;
                completionTokens: number;
                /** @description The provider did not tell. */
                estimated?: boolean;
            };
            /** @description provider/model */
            model: string;
            /** @enum {string} */
            finishReason: "stop" | "length" | "content_filter";
            /** @description In milliseconds. */
            took: {
                retrieval: number;
                model: number;
            };
            warnings?: string[];
        };
        /** @description Exactly one of text, url and fileId. */
        NewKnowledgeDocument: {
            text?: string;
            url?: string;
            /** @description Of a file of the workspace that the caller may read. */
            fileId?: string;
            /** @description The caller's own identity of the document. */
            key?: string;
            mimetype?: string;
            name?: string;
            /** @description Without it, the one that is found in the content. */
            title?: string;
            tags?: string[];
            /** @description At most 8 KB and 4 levels. */
            metadata?: Record<string, never>;
            /** @description A code such as fr. Without it, the one that the text is in. */
            language?: string;
            /** Format: date-time */
            expiresAt?: string;
        };
        NewKnowledgeFiles: {
            key?: string;
            name?: string;
            title?: string;
            mimetype?: string;
            /** @description Separated by commas. */
            tags?: string;
            /** @description A JSON object. */
            metadata?: string;
            language?: string;
            /** Format: date-time */
            expiresAt?: string;
        } & {
            [key: string]: string;
        };
        NewKnowledgeDocuments: {
            documents: components["schemas"]["NewKnowledgeDocument"][];
        };
        /** @description The document, or why it was refused. */
        KnowledgeBulkItem: {
            document?: components["schemas"]["KnowledgeDocument"];
            error?: string;
            message?: string;
            details?: Record<string, never>;
        };
        KnowledgeDeletion: {
            ids?: string[];
            filters?: Record<string, never>;
            all?: boolean;
        };
        KnowledgeDocumentChange: {
            name?: string;
            /** @description Without it, the one that is found in the content. */
            title?: string | null;
            tags?: string[] | null;
            /** @description At most 8 KB and 4 levels. */
            metadata?: Record<string, never> | null;
            /** @description A code such as fr. Without it, the one that the text is in. */
            language?: string | null;
            /** Format: date-time */
            expiresAt?: string | null;
        };
        KnowledgeChunk: {
            n: number;
            text: string;
            /** @description In the text, in characters. */
            from: number;
            to: number;
            headings: string[] | null;
            page?: number;
            tokens: number;
            language: string;
            hash: string;
        };
        KnowledgeRevision: {
            revision: number;
            hash: string;
            size: number;
            /** Format: date-time */
            createdAt: string;
            createdBy?: string;
        };
        KnowledgeCounts: {
            documents: number;
            pending: number;
            processing: number;
            ready: number;
            error: number;
            chunks: number;
            bytes: number;
        };
        KnowledgeIndex: {
            /** @enum {string} */
            state: "ready" | "building" | "rebuilding";
            progress: number;
            /** @enum {string} */
            vectors: "none" | "building" | "ready";
            /** @description Documents that are not processed yet. */
            lag: number;
        };
        NewKnowledgeBase: {
            name: components["schemas"]["Localized"];
            /** @description Neither search nor ask. */
            slug?: string;
            description?: components["schemas"]["Localized"];
            labels?: components["schemas"]["Label"][];
            /**
             * @description Of documents that name none and whose text does not tell. auto without it.
             * @enum {string}
             */
            language?: "auto" | "ar" | "ckb" | "cjk" | "da" | "de" | "en" | "es" | "fa" | "fi" | "fr" | "hi" | "hr" | "hu" | "it" | "nl" | "no" | "pl" | "pt" | "ro" | "ru" | "sv" | "tr";
            chunking?: components["schemas"]["KnowledgeChunking"];
            search?: components["schemas"]["KnowledgeSearchDefaults"];
            answer?: components["schemas"]["KnowledgeAnswerDefaults"];
            /** @description Groups of words that searches take for the same. */
            synonyms?: string[][];
            /** @description The model that turns passages into vectors. */
            embedding?: {
                model: string;
                dimensions?: number;
            };
            sources?: components["schemas"]["KnowledgeSources"];
        };
        KnowledgeBaseChange: {
            name?: components["schemas"]["Localized"];
            /** @description Neither search nor ask. */
            slug?: string | null;
            description?: components["schemas"]["LocalizedOrNull"];
            labels?: components["schemas"]["Label"][] | null;
            /**
             * @description Of documents that name none and whose text does not tell. auto without it.
             * @enum {string|null}
             */
            language?: "auto" | "ar" | "ckb" | "cjk" | "da" | "de" | "en" | "es" | "fa" | "fi" | "fr" | "hi" | "hr" | "hu" | "it" | "nl" | "no" | "pl" | "pt" | "ro" | "ru" | "sv" | "tr" | null;
            chunking?: components["schemas"]["KnowledgeChunking"] | null;
            search?: components["schemas"]["KnowledgeSearchDefaults"] | null;
            answer?: components["schemas"]["KnowledgeAnswerDefaults"] | null;
            /** @description Groups of words that searches take for the same. */
            synonyms?: string[][] | null;
            /** @description The model that turns passages into vectors. */
            embedding?: {
                model: string;
                dimensions?: number;
            } | null;
            sources?: components["schemas"]["KnowledgeSources"] | null;
        };
        /** @description Sites whose pages are documents of the base, by id. */
        KnowledgeSources: {
            [key: string]: components["schemas"]["KnowledgeSource"];
        };
        /** @description A site, and how it is read. */
        KnowledgeSource: {
            /** @description Where reading begins. */
            urls: string[];
            /** @description Hosts that belong to the site besides those of urls. */
            hosts?: string[];
            /** @description Patterns of addresses that are read: * is any text, a leading / begins at the path, regex: begins a regular expression. All without it. */
            include?: string[];
            /** @description Patterns of addresses that are not. */
            exclude?: string[];
            /** @description Links from a start address; 3 without it. */
            depth?: number;
            /** @description Pages of one run, up to CRAWLER_MAX_PAGES; 1000 without it. */
            maxPages?: number;
            /**
             * @description Whether sitemaps add addresses; only: no links are followed.
             * @enum {string}
             */
            sitemap?: "auto" | "only" | "off";
            /** @description When it is read: minute hour day month weekday, no closer than CRAWLER_MIN_PERIOD. */
            schedule?: string;
            /** @description What of a page is kept; its main part without it. */
            selector?: {
                css?: string;
                xpath?: string;
                /** @description CSS selectors of what is left out. */
                remove?: string[];
            };
            /** @description What is stored; html without it. */
            types?: ("html" | "pdf" | "docx" | "xlsx" | "csv" | "markdown" | "text")[];
            /** @description Parameters of addresses that do not tell pages apart. */
            ignoreParams?: string[];
            /** @description Sent to the hosts of urls only; credentials as {{secret.NAME}}. */
            headers?: {
                [key: string]: string;
            };
            /** @description Seconds between requests to a host, at least DOWNLOAD_DELAY. */
            delay?: number;
            /** @description Obey robots.txt; false only for hosts of CRAWLER_ROBOTS_EXEMPT_HOSTS. */
            robots?: boolean;
            /** @description Keep documents of pages that are gone. */
            keepVanished?: boolean;
            disabled?: boolean;
            /** @description Of every page. */
            tags?: string[];
            /** @description Of every page: at most 8 KB and 4 levels. */
            metadata?: Record<string, never>;
            /** @description Of every page; that of its text without it. */
            language?: string;
        };
        /** @description One reading of a source. */
        KnowledgeCrawl: {
            /** @description That of its operation. */
            id: string;
            sourceId: string;
            /** @enum {string} */
            status: "running" | "succeeded" | "failed" | "cancelled";
            /** @enum {string} */
            trigger: "manual" | "schedule";
            /** Format: date-time */
            startedAt: string;
            /** Format: date-time */
            endedAt: string | null;
            /** @description Pages by what became of them; all but fetched and bytes add up to queued when every page was visited. */
            counts: {
                /** @description Pages that the crawl has to do with. */
                queued: number;
                /** @description Pages that the site answered for. */
                fetched: number;
                created: number;
                updated: number;
                unchanged: number;
                duplicates: number;
                skipped: number;
                failed: number;
                deleted: number;
                bytes: number;
            };
            /** @description Every page was visited that there is. */
            complete: boolean;
            warnings: string[];
            /** @description Why it failed. */
            error?: {
                code?: string;
                message?: string;
                details?: Record<string, never>;
            };
        };
        NewAgentMessage: {
            text: string;
            /** @description To go on with; a new one without it. */
            conversationId?: string;
            /** @description Fills in `{{context.x}}` of the instructions. */
            context?: {
                [key: string]: unknown;
            };
            /** @description The agent as it is, not as it is published. Needs the right to change it. */
            draft?: boolean;
            /** @description Answer as a stream of frames. */
            stream?: boolean;
        };
        AgentMessage: {
            id: string;
            conversationId: string;
            /** @enum {string} */
            role: "user" | "assistant";
            /** @enum {string} */
            status: "running" | "waiting_approval" | "completed" | "failed" | "cancelled";
            text: string;
            citations: components["schemas"]["AgentCitation"][];
            toolCalls: components["schemas"]["AgentToolCall"][];
            /** @description Calls that wait for an approval. */
            approvals?: components["schemas"]["AgentWantedApproval"][];
            usage: {
                promptTokens: number;
                completionTokens: number;
                estimated?: boolean;
            };
            model?: string;
            steps: number;
            /** @enum {string} */
            finishReason?: "stop" | "length" | "content_filter" | "limit";
            error?: {
                error: string;
                message: string;
                details?: {
                    [key: string]: unknown;
                };
            };
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            endedAt?: string;
            /** @description Of an answer that is not waited for any more: the id of the message. */
            operationId?: string;
        };
        AgentCitation: {
            /** @description As the text names it: [n]. */
            n: number;
            documentId: string;
            knowledgeBase: string;
            name: string;
            title: string;
            url?: string;
            chunk: number;
            page?: number;
            quote: string;
        };
        AgentToolCall: {
            id: string;
            name: string;
            /** @description As the model wrote them; a text when they are no JSON. */
            arguments: unknown;
            /** @description What the function returned. */
            output?: unknown;
            /** @description Why it failed. */
            error?: string;
            /** @description Milliseconds. */
            duration: number;
        };
        AgentWantedApproval: {
            callId: string;
            name: string;
            /** @description As the model wrote them; a text when they are no JSON. */
            arguments: unknown;
            /**
             * Format: date-time
             * @description Then it counts as refused.
             */
            until: string;
        };
        AgentApproval: {
            callId: string;
            approved: boolean;
            /** @description What the model is told of a refusal. */
            reason?: string;
        };
        AgentConversation: {
            id: string;
            /** @description The slug of the agent. */
            agent: string;
            title: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            /** @description A user, an API key or a session. */
            createdBy: string;
        };
        WholeAgentConversation: {
            id: string;
            /** @description The slug of the agent. */
            agent: string;
            title: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            /** @description A user, an API key or a session. */
            createdBy: string;
            messages: components["schemas"]["AgentMessage"][];
        };
        AgentConversationChange: {
            title: string;
        };
        KnowledgeCrawlPage: {
            url: string;
            /** @enum {string} */
            outcome: "created" | "updated" | "unchanged" | "duplicate" | "skipped" | "failed" | "deleted";
            /** @description That the site answered with. */
            status?: number;
            reason?: string;
            /** @description Links from a start address. */
            depth: number;
            documentId?: string;
            bytes: number;
            /** @description Milliseconds. */
            duration: number;
            /** Format: date-time */
            at: string;
        };
        /** @description How texts are divided into passages. */
        KnowledgeChunking: {
            /**
             * @description At headings, paragraphs and sentences, or windows of equal length. structure without it.
             * @enum {string}
             */
            strategy?: "structure" | "fixed";
            /** @description Characters of a passage at most; 1500 without it. */
            size?: number;
            /** @description Characters of the passage before that are repeated, at most half of size; 150 without it. */
            overlap?: number;
        };
        /** @description What searches use that do not say otherwise. */
        KnowledgeSearchDefaults: {
            /** @enum {string} */
            mode?: "auto" | "text" | "vector" | "hybrid";
            /** @description 10 without it. */
            limit?: number;
            weights?: {
                text?: number;
                vector?: number;
            };
            minSimilarity?: number;
            /** @description How much more than the text a match counts. */
            boosts?: {
                title?: number;
                headings?: number;
            };
        };
        /** @description How questions are answered that do not say otherwise. */
        KnowledgeAnswerDefaults: {
            /** @description provider/model, or the id of a model; without it the default. */
            model?: string;
            /** @description What the model is told besides the rules of the service. */
            instructions?: string;
            /** @description 8 without it. */
            topK?: number;
            /** @description 0.2 without it. */
            temperature?: number;
            /** @description 1000 without it. */
            maxTokens?: number;
            noAnswer?: components["schemas"]["Localized"];
        };
        Block: {
            name?: components["schemas"]["Localized"];
            description?: components["schemas"]["Localized"];
            photo?: string;
            url?: string;
            schema?: Record<string, never> | boolean;
            edit?: unknown;
            block?: string;
            config?: Record<string, never>;
            automation?: string | Record<string, never>;
            blocks?: Record<string, never>[];
            css?: string;
        };
        BlockChange: {
            name?: components["schemas"]["LocalizedOrNull"];
            description?: components["schemas"]["LocalizedOrNull"];
            photo?: string | null;
            url?: string | null;
            schema?: Record<string, never> | boolean | null;
            edit?: unknown;
            block?: string | null;
            config?: Record<string, never> | null;
            automation?: string | Record<string, never> | null;
            blocks?: Record<string, never>[] | null;
            css?: string | null;
        };
        WorkspaceConfig: {
            /** @description Typed fields by name. */
            schema?: Record<string, never>;
            block?: string | Record<string, never>;
            value?: Record<string, never>;
        };
        WorkspaceConfigChange: {
            schema?: Record<string, never> | null;
            block?: string | Record<string, never> | null;
            value?: Record<string, never> | null;
        };
        Secret: {
            description?: string;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** Format: date-time */
            updatedAt: string;
            updatedBy: string;
        };
        NewSecret: {
            value: string;
            description?: string;
        };
        /**
         * @example {
         *       "seq": "BQAa",
         *       "at": "2025-06-01T12:00:00.000Z",
         *       "by": "665a1f2e8b3c4d5e6f708192",
         *       "type": "workspaces.automations.updated",
         *       "summary": "Automation charge changed",
         *       "correlationId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c",
         *       "contentRevision": 5,
         *       "undoable": true
         *     }
         */
        HistoryEntry: {
            /** @description An opaque token, for `atSeq`, `diff`, `restore` and `undo`. */
            seq: string;
            /** @description In the history of everything. */
            workspaceId?: string;
            /** Format: date-time */
            at: string;
            /** @description A user id, or `key:{id}`; empty for the platform itself. */
            by: string;
            type: string;
            summary: string;
            /** @description Paths of the documents that it touched, such as `automations/charge`; `index` for the workspace itself. The first twenty. */
            objects?: string[];
            correlationId: string;
            /** @description Of a change of content. */
            contentRevision?: number;
            undoable: boolean;
        };
        Difference: {
            from: string;
            to: string;
            changes: {
                /** @description Of the exported file. */
                path: string;
                /** @enum {string} */
                change: "added" | "modified" | "deleted";
                /** @description A unified diff. */
                patch: string;
            }[];
            summary: {
                added: number;
                modified: number;
                deleted: number;
            };
        };
        /** @description Exactly one of seq, at and version. */
        RestoreRequest: {
            /** @description A token or a contentRevision. */
            seq?: string | number;
            /** Format: date-time */
            at?: string;
            version?: string;
            /** @default false */
            dryRun?: boolean;
        };
        UndoRequest: {
            /** @description Of an entry of the history, or the `x-svc-seq` of the write; a contentRevision counts too. */
            seq: string | number;
        };
        DuplicateRequest: {
            /** @description Without it, that of the original and `copy`. */
            name?: string | null;
            /** @description Without it a new one. */
            slug?: string | null;
        };
        Restoration: {
            workspace: components["schemas"]["Workspace"];
            /** @description Paths without extension. */
            imported: string[];
            deleted: string[];
            errors: components["schemas"]["RestorationItem"][];
            warnings: components["schemas"]["RestorationItem"][];
            contentRevision: number;
        };
        RestorationItem: {
            msg: string;
            /** @description A stable code. */
            err: string;
            filepath: string;
            line?: number;
            workspaceId?: string;
        };
        /** @description One thing to say about one file. */
        ImportItem: {
            /** @description For people. */
            msg: string;
            /** @description A stable code, such as `invalid_document`. */
            err: string;
            filepath: string;
            line?: number;
            workspaceId?: string;
            /** @description What a program can do something with. */
            details?: Record<string, never>;
        };
        /** @description What an import did. Empty `errors` is the proof of success. */
        ImportResult: {
            /** @description Paths without extension of what changed, such as `automations/charge`. */
            imported: string[];
            deleted: string[];
            errors: components["schemas"]["ImportItem"][];
            warnings: components["schemas"]["ImportItem"][];
            workspace?: components["schemas"]["Workspace"];
            version?: {
                name: string;
            };
            contentRevision?: number;
            createdWorkspaceIds?: string[];
            updatedWorkspaceIds?: string[];
            publishedApps?: string[];
        };
        ExportRequest: {
            workspaces?: {
                /** @description The filters of `GET /v2/workspaces`. */
                query?: {
                    search?: string;
                    name?: string;
                    ids?: string | string[];
                    slug?: string | string[];
                    labels?: string | string[];
                    email?: string;
                    owned?: boolean;
                    dirty?: boolean;
                };
                /** @description Which of them, the last updated first. Absent, all. */
                pagination?: {
                    page?: number;
                    /** @default 20 */
                    limit?: number;
                };
            };
            /**
             * @description Also the workspaces of the apps that are installed.
             * @default false
             */
            includeApps?: boolean;
        };
        /**
         * @example {
         *       "id": "op_3kFv9ZqLx7Qm2ZxVt9Lb",
         *       "kind": "pull",
         *       "workspaceId": "aB3dE7x",
         *       "repositoryId": "origin",
         *       "branch": "main",
         *       "status": "running",
         *       "epoch": 12,
         *       "createdBy": "665a1f2e8b3c4d5e6f708192",
         *       "createdAt": "2025-06-01T12:00:00.000Z",
         *       "startedAt": "2025-06-01T12:00:00.000Z",
         *       "endedAt": null,
         *       "correlationId": "0a1b2c3d-0000-4000-8000-000000000000",
         *       "resumed": 0,
         *       "request": {
         *         "discardLocalChanges": false
         *       },
         *       "progress": {
         *         "current": 0,
         *         "total": 1,
         *         "percentage": 40
         *       },
         *       "steps": [
         *         {
         *           "step": "checkout",
         *           "state": "done",
         *           "startedAt": "2025-06-01T12:00:00.000Z",
         *           "stepDuration": 212
         *         }
         *       ],
         *       "result": null,
         *       "error": null
         *     }
         */
        Operation: {
            id: string;
            /** @enum {string} */
            kind: "push" | "pull" | "import" | "resolve" | "bulkPush" | "bulkImport" | "replay" | "crawl" | "reindex";
            workspaceId: string;
            repositoryId?: string;
            branch?: string;
            /** @enum {string} */
            status: "queued" | "running" | "succeeded" | "failed" | "conflict" | "cancelled";
            /** @description Of the write lock that it holds or held. */
            epoch: number;
            /** @description What was asked. */
            request: Record<string, never> | null;
            progress: {
                current: number;
                total: number;
                percentage: number;
            };
            steps: components["schemas"]["OperationStep"][];
            /** @description What the call would have answered; null until it has succeeded. */
            result: Record<string, never> | unknown[] | string | number | boolean | null;
            error: null | {
                code: string;
                message: string;
                details?: Record<string, never>;
            };
            cancelRequested?: boolean;
            /** @description How often another node went on with it. */
            resumed: number;
            correlationId: string;
            createdBy: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            startedAt: string;
            /** Format: date-time */
            endedAt: string | null;
        };
        OperationStep: {
            /** @enum {string} */
            step: "checkout" | "pull" | "write" | "merge" | "push" | "import" | "error";
            /** @enum {string} */
            state: "started" | "done" | "failed";
            /** Format: date-time */
            startedAt: string;
            /** @description Milliseconds, once it has ended. */
            stepDuration?: number;
        };
        /** @description The answer (202) when an operation takes longer than its caller waits. */
        Processing: {
            /** @constant */
            processing: true;
            message: string;
            operationId: string;
        };
        RepositoryTest: {
            /** @description It answered, and let us in. */
            reachable: boolean;
            /** @description It has no commit yet. */
            empty: boolean;
            branches: string[];
            /** @description Whether `config.branch` is among them. */
            targetBranchExists: boolean;
            /** @description After redirects, without credentials. */
            finalUrl: string;
            /** @description What an SSH server showed. */
            hostKey?: {
                type: string;
                fingerprint: string;
                /** @description For `config.knownHosts`, once its owner has confirmed the fingerprint. */
                line: string;
            };
            /** @description Why it is not reachable, as push and pull would say it, and what to do about it. */
            error?: {
                code: string;
                message: string;
                details?: Record<string, never>;
            };
        };
        RepositoryRef: string | {
            id: string;
        } | null;
        /**
         * @example {
         *       "name": "v2.5.0",
         *       "description": "Retry failed charges",
         *       "repository": {
         *         "id": "origin"
         *       }
         *     }
         */
        PushRequest: {
            /** @description Not `current` or `latest`; one is made up when it is left out. */
            name?: string;
            description?: components["schemas"]["Localized"];
            repository?: components["schemas"]["RepositoryRef"];
            /** @description Ignored. */
            createdAt?: unknown;
            /** @description Of the platform workspace only: push the workspaces of these groups to a platform repository. */
            groups?: components["schemas"]["GroupName"][];
            /**
             * @description With groups: sort the workspaces, push nothing.
             * @default false
             */
            dryRun?: boolean;
            /**
             * @description With groups: push workspaces without changes too.
             * @default false
             */
            force?: boolean;
        };
        /**
         * @example {
         *       "repository": "origin"
         *     }
         */
        PullRequest: {
            /** @default latest */
            version?: string | null;
            repository?: components["schemas"]["RepositoryRef"];
            /**
             * @description What was changed here goes; the history keeps it.
             * @default false
             */
            discardLocalChanges?: boolean;
            /**
             * @description A file with an error refuses all.
             * @default false
             */
            strict?: boolean;
            /** @description Of the platform workspace only: import the workspaces of these groups from a platform repository; none: all that it has. */
            groups?: components["schemas"]["GroupName"][];
            /**
             * @description Of a bulk import: bring also workspaces that have the version already; a wrong checksum is a warning then.
             * @default false
             */
            forceReimport?: boolean;
            /**
             * @description Of the platform workspace only: as the parameter.
             * @default false
             */
            dryRun?: boolean;
        };
        GroupName: string;
        /** @description What a push of groups would do. */
        BulkPushPlan: {
            /** @constant */
            dryRun: true;
            repositoryId: string;
            groups: string[];
            name: string;
            workspaces: {
                slug: string;
                workspaceId: string;
                name: string;
                /** @enum {string} */
                status: "candidate" | "mergeConflict" | "inProgress" | "alreadyPushed";
            }[];
        };
        /** @description The payload of `workspaces.bulkPush.completed`. */
        BulkPushResult: {
            operationId: string;
            repositoryId: string;
            groups: string[];
            /** @description Of the version. */
            name: string;
            /** @description Milliseconds. */
            duration: number;
            pushed: number;
            mergeConflicts: number;
            alreadyPushed: number;
            inProgress: number;
            /** @description Workspaces with errors. */
            errorsCount: number;
            /** @description At most 500. */
            errors: components["schemas"]["ImportItem"][];
            pushedWorkspaceIds: string[];
            mergeConflictWorkspaceIds: string[];
            alreadyPushedWorkspaceIds: string[];
            inProgressWorkspaceIds: string[];
            cancelled?: boolean;
            /** @description Errors or warnings were left out here; the events of the workspaces have them. */
            truncated?: boolean;
            workspaces: {
                slug: string;
                workspaceId: string;
                name: string;
                /** @enum {string} */
                status: "pushed" | "error" | "mergeConflict" | "inProgress" | "alreadyPushed";
                reason?: string;
                /** @description The first five. */
                errors: components["schemas"]["ImportItem"][];
                duration: number;
            }[];
        };
        /** @description What a bulk import would do. */
        BulkImportPlan: {
            /** @constant */
            dryRun: true;
            repositoryId: string;
            groups: string[];
            total: number;
            warnings: components["schemas"]["ImportItem"][];
            /** @description In the order in which they would be imported. */
            workspaces: {
                slug: string;
                workspaceId?: string;
                name?: string;
                version?: string;
                /** @enum {string} */
                wouldImport: "created" | "updated" | "skipped" | "error";
                files: string[];
                deleted: string[];
                localChangesLost: boolean;
                errors: components["schemas"]["ImportItem"][];
                warnings: components["schemas"]["ImportItem"][];
            }[];
        };
        /** @description The payload of `workspaces.bulkImport.completed`. */
        BulkImportResult: {
            operationId: string;
            repositoryId: string;
            groups: string[];
            /** @description Milliseconds. */
            duration: number;
            created: number;
            updated: number;
            skipped: number;
            /** @description Workspaces with errors. */
            errorsCount: number;
            createdWorkspaceIds: string[];
            updatedWorkspaceIds: string[];
            skippedWorkspaceIds: string[];
            importedFilesCount: number;
            deletedFilesCount: number;
            /** @description At most 500. */
            errors: components["schemas"]["ImportItem"][];
            warnings: components["schemas"]["ImportItem"][];
            cancelled?: boolean;
            /** @description Errors or warnings were left out here; the events of the workspaces have them. */
            truncated?: boolean;
            workspaces: {
                slug: string;
                /** @description Empty when none was made. */
                workspaceId: string;
                name: string;
                version: string;
                /** @enum {string} */
                status: "imported" | "skipped" | "error";
                reason?: string;
                /** @description The first five. */
                errors: components["schemas"]["ImportItem"][];
                importedFilesCount: number;
                deletedFilesCount: number;
                duration: number;
                /** @description That was published. */
                app?: string;
            }[];
        };
        ChangedFiles: {
            /** @description At most 500. */
            files: string[];
            created: string[];
            deleted: string[];
            insertions: {
                [key: string]: number;
            };
            deletions: {
                [key: string]: number;
            };
            summary: {
                changes: number;
                insertions: number;
                deletions: number;
            };
            truncated?: boolean;
        };
        Version: {
            name: string;
            description?: components["schemas"]["Localized"];
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** @description Absent for the platform's own store. */
            repository?: {
                id: string;
            };
            commit?: string;
            tag?: string;
            contentRevision: number;
            changes?: components["schemas"]["ChangedFiles"];
            warnings?: components["schemas"]["ImportItem"][];
        };
        /** @description Empty `errors` is the proof of success. */
        PullResult: {
            imported: string[];
            deleted: string[];
            errors: components["schemas"]["ImportItem"][];
            warnings: components["schemas"]["ImportItem"][];
            workspace: {
                id: string;
                slug: string;
                name: string;
            };
            version?: {
                name: string;
                repository?: {
                    id: string;
                };
            };
            contentRevision: number;
            publishedApps?: string[];
            /** @description Instead of `imported`, of an operation that another node has settled. */
            files?: string[];
        };
        /** @description What a pull would do. No lock is taken and nothing is sent. */
        PullPlan: {
            /**
             * @description How it would go about it.
             * @enum {string}
             */
            path: "version" | "discard" | "new" | "remote" | "merge" | "resolved";
            wouldImport: string[];
            wouldDelete: string[];
            conflicts: components["schemas"]["ConflictFile"][];
            warnings: components["schemas"]["ImportItem"][];
            errors: components["schemas"]["ImportItem"][];
        };
        ConflictFile: {
            path: string;
            /** @enum {string} */
            kind: "modify/modify" | "delete/modify" | "modify/delete" | "add/add";
            /** @description That both sides changed. */
            keys?: string[];
        };
        ConflictSide: null | {
            content: string;
        };
        Conflicts: {
            operationId?: string;
            repositoryId?: string;
            /** @description The intermediate branch. */
            branch?: string;
            targetBranch?: string;
            base?: string;
            ours?: string;
            theirs?: string;
            files: {
                path: string;
                /** @enum {string} */
                kind: "modify/modify" | "delete/modify" | "modify/delete" | "add/add";
                keys: string[];
                base: components["schemas"]["ConflictSide"];
                ours: components["schemas"]["ConflictSide"];
                theirs: components["schemas"]["ConflictSide"];
                /** @description The text with conflict markers. */
                merged: string;
            }[];
        };
        /**
         * @example {
         *       "files": {
         *         "automations/charge.yml": {
         *           "use": "theirs"
         *         }
         *       }
         *     }
         */
        ResolveRequest: {
            files: {
                [key: string]: {
                    /** @enum {string} */
                    use?: "ours" | "theirs";
                    /** @description null deletes the file. */
                    content?: string | null;
                };
            };
        };
        WorkspaceStatus: {
            /** @enum {string} */
            state: "clean" | "local_dirty" | "remote_ahead" | "diverged" | "conflicted";
            dirty: boolean;
            contentRevision: number;
            syncedRevision: number;
            writeLock: null | components["schemas"]["WriteLock"];
            version: null | {
                name: string;
                repositoryId?: string;
                /** Format: date-time */
                at: string;
            };
            repositories: {
                id: string;
                type: string;
                mode: string;
                branch: string;
                /** @enum {string} */
                state: "clean" | "local_dirty" | "remote_ahead" | "diverged" | "conflicted";
                ahead: number;
                behind: number;
                rewritten: boolean;
                base?: string;
                remote?: string;
                /** Format: date-time */
                checkedAt: string | null;
                stale: boolean;
                error: null | {
                    code: string;
                    message: string;
                    details?: Record<string, never>;
                };
            }[];
            changes: {
                type: string;
                slug: string;
                /** @enum {string} */
                change: "added" | "modified" | "deleted";
                /** @enum {string} */
                side: "local" | "remote" | "both";
                currentChecksum?: string;
                expectedChecksum?: string;
                /** Format: date-time */
                updatedAt?: string;
                updatedBy?: string;
            }[];
            errors: components["schemas"]["ImportItem"][];
        };
        SearchRequest: {
            /** @description One query, by its kind: `{"term": {"type": "error"}}`. */
            query: Record<string, never>;
            /** @description Only events that a list with these parameters shows: `{"types": "error,*.error", "source.userId": ["a", "b"]}`. Texts, or lists of them. */
            filter?: Record<string, never>;
            /**
             * @default events
             * @enum {string}
             */
            scope?: "events";
            /**
             * @description How many documents at most.
             * @default 100
             */
            limit?: number;
            /** @default 0 */
            page?: number;
            /** @description Fields and their directions: `[{"payload.amount": "desc"}]`. The newest first when there are none. */
            sort?: (string | Record<string, never>)[];
            /** @description Fields that documents are shown with, `*` for any text. All of them when it is not there. */
            source?: string[];
            /** @description Aggregations by their names. */
            aggs?: Record<string, never>;
            /** @description Another name of aggs. */
            aggregations?: Record<string, never>;
            /**
             * @description Whether all hits are counted, however many there are.
             * @default false
             */
            track_total_hits?: boolean;
        };
        SearchResult: {
            /** @description How many events match; 10,000 stands for as many or more unless `track_total_hits` asks for all. */
            size: number;
            /** @description The events of the page, or of each what `source` asks for. */
            documents: Record<string, never>[];
            /** @description The aggregations by their names, in the usual shape: `{buckets: [{key, doc_count, …}]}`, `{value}`, `{values}`, `{hits}`. */
            aggs?: {
                [key: string]: Record<string, never>;
            };
        };
        Usage: {
            workspaceId: string;
            /** Format: date-time */
            afterDate: string;
            /** Format: date-time */
            beforeDate: string;
            /** @enum {string} */
            interval?: "month" | "day";
            total: components["schemas"]["UsageTotal"];
            /** @description With interval: each day or month, also those without usage. */
            timeseries?: components["schemas"]["UsageOfInterval"][];
            apps: components["schemas"]["AppUsage"][];
            /** @description With details: the metrics of the platform for each model, knowledge base and agent. */
            knowledge?: {
                models: {
                    [key: string]: {
                        [key: string]: number;
                    };
                };
                knowledgeBases: {
                    [key: string]: {
                        [key: string]: number;
                    };
                };
                agents: {
                    [key: string]: {
                        [key: string]: number;
                    };
                };
            };
        };
        UsageTotal: {
            /** @description Different correlation ids. */
            transactions: number;
            /** @description Those that an endpoint triggered. */
            httpTransactions: number;
            /** @description Those that an event triggered. */
            eventTransactions: number;
            /** @description Those that a schedule triggered. */
            scheduleTransactions: number;
            sessions: number;
            users: number;
            /** @description Of the whole period: metrics of the platform, such as tokens.prompt. Absent: there are none. */
            custom?: {
                [key: string]: number;
            };
        };
        UsageOfInterval: {
            /**
             * Format: date-time
             * @description When the day or month begins.
             */
            date: string;
            total: components["schemas"]["UsageTotal"];
            /** @description Metrics of the platform. Absent: there are none. */
            custom?: {
                [key: string]: number;
            };
            /** @description With details. */
            apps?: components["schemas"]["AppUsage"][];
        };
        AppUsage: {
            slug: string;
            total: components["schemas"]["CustomUsage"];
            /** @description With details. */
            appInstances?: {
                slug: string;
                total: components["schemas"]["CustomUsage"];
            }[];
        };
        CustomUsage: {
            /** @description What the metrics come to. */
            custom: {
                [key: string]: number;
            };
        };
        CleanIndices: {
            /** @description Days that events are kept; -1 for ever. */
            retention?: number;
            /** @description How many events a small workspace has at most; -1 leaves them all alone. */
            workspaceMaxEvents?: number;
            /** @description Days without an event, errors left out, after which nobody uses it. */
            workspaceInactivityDays?: number;
            workspaceIds?: components["schemas"]["CleanupSelection"];
        };
        CleanExecutions: {
            /**
             * @description How long payloads are kept: a time with suffix `ms`, `s`, `m`, `h` or `d`, or a number of days; -1 for ever.
             * @example 14d
             */
            automationExecutedExpiration?: string | number;
            workspaceIds?: components["schemas"]["CleanupSelection"];
        };
        /** @description Only these workspaces; all when there are none. */
        CleanupSelection: string[];
        CleanedIndices: {
            dryRun: boolean;
            /** Format: date-time */
            startedAt: string;
            /** @description Milliseconds. */
            duration: number;
            expiredEvents: {
                /**
                 * Format: date-time
                 * @description Events before it are too old; null: none is.
                 */
                before: string | null;
                total: number;
            };
            inactiveWorkspaces: {
                found: {
                    workspaceId: string;
                    inactivityDays: number;
                    /** @description Changes of the workspace included, which are never erased. */
                    eventsCount: number;
                }[];
                deletedEvents: number;
            };
            deletedWorkspaces: {
                found: {
                    workspaceId: string;
                    /** Format: date-time */
                    deletedAt: string;
                }[];
                deletedEvents: number;
            };
            /** @description Contents that nothing refers to: uploads that were never recorded, contents of deleted or replaced files, contents of erased workspaces. None when the run is limited to some workspaces. */
            blobs?: {
                deleted: number;
                freedBytes: number;
            };
            errors: components["schemas"]["CleanupFault"][];
        };
        CleanedExecutions: {
            dryRun: boolean;
            /** Format: date-time */
            startedAt: string;
            /** @description Milliseconds. */
            duration: number;
            /**
             * Format: date-time
             * @description Executions before it are too old; null: none is.
             */
            before: string | null;
            /** @description How many lost their payload and output. */
            stripped: number;
            /** @description Of payloads, outputs and recordings. */
            freedBytes: number;
            errors: components["schemas"]["CleanupFault"][];
        };
        /** @description A part that was not done. */
        CleanupFault: {
            /** @enum {string} */
            part: "resume" | "expiredEvents" | "inactiveWorkspaces" | "deletedWorkspaces" | "deliveries" | "executions" | "recordings";
            workspaceId?: string;
            message: string;
        };
        /**
         * @description By the names of the query of GET events: `text`, `appInstanceDepth` (1 without it, -1 for all), or any dotted path. A value
         *     is text that may have `*`, a number, a boolean, null for absent, or a list of which any may match. All of them must match.
         */
        SubscriptionFilters: {
            [key: string]: unknown;
        };
        NewSubscription: {
            /** @description http or https, without credentials. */
            url: string;
            /** @description Event types, exact or with `*`. */
            types: string[];
            filters?: components["schemas"]["SubscriptionFilters"] | null;
            /** @description A dotted path into events; `source.correlationId` without it. */
            orderKey?: string | null;
            description?: string | null;
            disabled?: boolean | null;
            /** @description `whsec_` and the base64 of 24 to 64 bytes; made when it is not given. */
            secret?: string | null;
        };
        SubscriptionPatch: {
            url?: string;
            types?: string[];
            filters?: components["schemas"]["SubscriptionFilters"] | null;
            orderKey?: string | null;
            description?: string | null;
            disabled?: boolean | null;
        };
        SecretRotation: {
            /** @description `whsec_` and the base64 of 24 to 64 bytes; made when it is not given. */
            secret?: string | null;
            /** @description Seconds for which the secret before signs too; 86400 without it. */
            overlap?: number | null;
        };
        /** @description One of `fromSeq` and `afterDate` is required. */
        ReplayRequest: {
            /** @description After this token or contentRevision. */
            fromSeq?: string | number;
            /** @description Up to this token or contentRevision. */
            toSeq?: string | number;
            /** Format: date-time */
            afterDate?: string;
            /** Format: date-time */
            beforeDate?: string;
        };
        Subscription: {
            id: string;
            url: string;
            types: string[];
            filters: components["schemas"]["SubscriptionFilters"];
            orderKey: string;
            description: string;
            disabled: boolean;
            /** @description Why the platform disabled it. */
            disabledReason?: string;
            /**
             * @description Open: it has failed ten times in a row, and is tried once a minute.
             * @enum {string}
             */
            breaker: "closed" | "open";
            /**
             * Format: date-time
             * @description The last that succeeded.
             */
            lastDeliveryAt?: string;
            /**
             * Format: date-time
             * @description Absent when the last attempt succeeded.
             */
            failingSince?: string;
            secretLast4: string;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** Format: date-time */
            updatedAt: string;
            updatedBy: string;
            /** @description Only in the answer that creates or rotates it. */
            secret?: string;
        };
        Delivery: {
            id: string;
            subscriptionId: string;
            /** @description Also the `webhook-id`. */
            eventId: string;
            eventType: string;
            /** @description The sequence token of the event. */
            seq: string;
            /**
             * @description Failed: the last attempt failed, and another comes at `nextAttemptAt` unless it was a test. Dead: there is none left.
             * @enum {string}
             */
            status: "pending" | "succeeded" | "failed" | "dead";
            /** @description The last of them. */
            attempts: components["schemas"]["DeliveryAttempt"][];
            /** Format: date-time */
            nextAttemptAt?: string;
            /** @description Whether a replay asked for it. */
            replay: boolean;
            /** Format: date-time */
            createdAt: string;
        };
        DeliveryAttempt: {
            /** Format: date-time */
            at: string;
            /** @description Of the answer; absent when there was none. */
            status?: number;
            /** @description Milliseconds. */
            duration: number;
            /** @description Why it failed. */
            error?: string;
            /** @description The first 1024 bytes of the answer. */
            responseBody?: string;
        };
    };
    responses: {
        /** @description Events after this position are erased: start again without it (reason `position_expired`). */
        PositionExpired: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The process is alive. */
        Alive: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "healthy": true
                 *     }
                 */
                "application/json": components["schemas"]["Health"];
            };
        };
        /** @description Every module works. */
        ServiceReady: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ready",
                 *       "modulesReady": [
                 *         {
                 *           "module": "broker",
                 *           "driver": "nats-jetstream"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ServiceExamination"];
            };
        };
        /** @description A module does not work; the body is the report itself. Or the request is not acceptable. */
        ServiceFailing: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "error",
                 *       "modulesReady": [],
                 *       "errors": [
                 *         {
                 *           "error": "TimedOut",
                 *           "module": "broker",
                 *           "driver": "nats-jetstream",
                 *           "message": "no result within 2s"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ServiceExamination"] | components["schemas"]["Error"];
            };
        };
        /** @description The state is still the one named in `If-None-Match`. */
        NotModified: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The request cannot be answered, see the code of the error. A page, or the error as JSON when `Accept` prefers that. */
        PageFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/html": string;
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `missing_token`: the page is not public, and nobody is signed in. A page, or the error as JSON when `Accept` prefers that. */
        PageUnauthorized: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/html": string;
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `permission_denied`: the visitor may not read the page or emit the event, or the request comes from another origin. A page, or the error as JSON when `Accept` prefers that. */
        PageForbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/html": string;
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `resource_not_found`: there is no such workspace, page, view or hook. A page, or the error as JSON when `Accept` prefers that. */
        PageNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/html": string;
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `rate_limit_exceeded`, or `concurrent_request_limit`. A page, or the error as JSON when `Accept` prefers that. */
        PageBusy: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/html": string;
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `service_unavailable`: starting, stopping, or reason `read_model_behind`. A page, or the error as JSON when `Accept` prefers that. */
        PageUnavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/html": string;
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description `invalid_request`: the body is malformed, has an unknown field, a key given twice or a value of another type.
         *     `missing_parameter`: something required is absent. `invalid_parameter`: a query, path or header value.
         */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description `missing_token`: a credential is needed. `invalid_token`, `token_expired`, `invalid_credentials`: this one does
         *     not hold. A header that does not hold is refused on public routes too.
         */
        Unauthorized: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "missing_token",
                 *       "message": "a credential is required",
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description `permission_denied`: this one right is missing. `workspace_access_denied`: no right at all in the workspace,
         *     the same whether or not it exists. `insufficient_scope`: the token lacks a scope.
         */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "permission_denied",
                 *       "message": "you lack permission to update workspaces",
                 *       "details": {
                 *         "action": "update",
                 *         "subject": "workspaces"
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `resource_not_found`: there is nothing under this id. */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "resource_not_found",
                 *       "message": "there is no such workspace",
                 *       "details": {
                 *         "resource": "workspace",
                 *         "id": "aB3dE7x"
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description `resource_conflict`, with a reason: `stale` (`If-Match`, or too many changes at once),
         *     `idempotency_key_reused`.
         */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "resource_conflict",
                 *       "message": "the resource has changed since you read it",
                 *       "details": {
                 *         "reason": "stale",
                 *         "etag": "\"1b\""
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`, reason `body_too_large`. */
        TooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "invalid_request",
                 *       "message": "the body is larger than 1048576 bytes",
                 *       "details": {
                 *         "reason": "body_too_large",
                 *         "length": 2000000,
                 *         "limit": 1048576
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`, reason `unsupported_media_type`: the body must be JSON. */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `validation_failed`: well-formed, but a value is not acceptable; every one is named. */
        Unprocessable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "validation_failed",
                 *       "message": "name: must be 1 to 60 characters without control characters",
                 *       "details": {
                 *         "errors": [
                 *           {
                 *             "field": "name",
                 *             "message": "must be 1 to 60 characters without control characters"
                 *           }
                 *         ]
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `resource_locked`: the workspace is locked, or such a run is going on already. */
        Locked: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "resource_locked",
                 *       "message": "a rebuild of the read models is running",
                 *       "details": {
                 *         "reason": "rebuild",
                 *         "lockedBy": "internal",
                 *         "lockedAt": "2025-06-01T12:00:00.000Z"
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `rate_limit_exceeded`, or `concurrent_request_limit`. */
        TooManyRequests: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "rate_limit_exceeded",
                 *       "message": "too many requests, try again later",
                 *       "details": {
                 *         "name": "createWorkspace",
                 *         "limit": 60,
                 *         "period": 60,
                 *         "retryAfter": 12,
                 *         "resetAt": "2025-06-01T12:01:00.000Z"
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description `internal_error` or `database_error`: a fault of the platform, or of an automation (reason `automation_failed`, `name` is the
         *     name of the error). Callers who may not read the automation get no text of its author.
         */
        InternalError: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "internal_error",
                 *       "message": "unexpected server error",
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `service_unavailable`: starting, stopping, storage low, or reason `read_model_behind`. */
        Unavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "service_unavailable",
                 *       "message": "the read model is behind",
                 *       "details": {
                 *         "reason": "read_model_behind",
                 *         "retryAfter": 1
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `upstream_failed`: a request that the automation made to somewhere else failed. */
        UpstreamFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "upstream_failed",
                 *       "message": "The automation failed.",
                 *       "details": {
                 *         "name": "FetchError"
                 *       },
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description `gateway_timeout`: it took too long. A write may have happened all the same: repeat it with the same
         *     `Idempotency-Key`.
         */
        Timeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "gateway_timeout",
                 *       "message": "the request took too long",
                 *       "requestId": "0b4b8a9c-6d5e-4f7a-8b1c-2d3e4f5a6b7c"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /**
         * @description The id of a workspace, or `slug:{workspaceSlug}`.
         * @example aB3dE7x
         */
        WorkspaceId: string;
        /**
         * @description Asks for the behaviour as it was on that day. Without it, the latest.
         * @example 2025-01-01
         */
        ApiVersion: string;
        /**
         * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
         *     has come so far, else 503 with the reason `read_model_behind`.
         */
        MinSeq: string;
        /**
         * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
         * @example "1a"
         */
        IfMatch: string;
        /**
         * @description The `ETag` that is known already. Still the same is 304.
         * @example "1a"
         */
        IfNoneMatch: string;
        /**
         * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
         *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
         *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
         *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
         *     many callers.
         */
        IdempotencyKey: string;
        /**
         * @description The id of a user.
         * @example 65f1c0ffee65f1c0ffee65f1
         */
        UserId: string;
        /** @description A key of the data. */
        MetaKey: string;
        /** @description The id of an access token, or its value. */
        IdOrToken: string;
        /** @description The id of an API key, or its value. */
        IdOrValue: string;
        /** @description The id of a session. */
        SessionIdPath: string;
        /** @description The id of a signing key. */
        Kid: string;
        /** @description A user id, `*`, or `role:{name}`. */
        Target: string;
        /**
         * @description The id of a file.
         * @example 3nHc0VqkQx-7Zt_1aBcDe
         */
        FileId: string;
        /**
         * @description The name of a collection.
         * @example people
         */
        CollectionName: string;
        /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
        CollectionInstance: string;
        /** @description The group that the collection is in. */
        CollectionSchema: string;
        /** @description The id of a row. */
        RowId: string;
        /**
         * @description The name of a version; `current` is what there is now.
         * @example current
         */
        VersionName: string;
        /** @description Delete automations, pages and app instances that the archive lacks. */
        Prune: boolean;
        /** @description A wrong checksum is a warning only. */
        Force: boolean;
        /** @description Any error refuses the archive. */
        Strict: boolean;
        /** @description Import only when this is still the `contentRevision`, else 409 `stale`: whoever changed the content since loses nothing. A dry run does not look at it. */
        IfRevision: number;
        /** @description Change nothing and tell what would change. */
        ImportDryRun: boolean;
        /** @description Of a bulk run: tell of it as it goes, as Server-Sent Events. */
        BulkStream: boolean;
        /** @description Seconds, or `15s`. Imports end within the request. */
        OperationTimeout: string;
        /** @description Change nothing: no lock, nothing is sent. */
        PullDryRun: boolean;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getSystemHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Alive"];
        };
    };
    getReadiness: {
        parameters: {
            query?: {
                /**
                 * @description A comma list of services. Without it, the first four.
                 * @example [
                 *       "api-gateway",
                 *       "events"
                 *     ]
                 */
                services?: ("api-gateway" | "runtime" | "events" | "workspaces" | "searchengine" | "crawler")[];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Everything works. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ready",
                     *       "services": {
                     *         "api-gateway": {
                     *           "status": "ready",
                     *           "modulesReady": [
                     *             {
                     *               "module": "database",
                     *               "driver": "badger"
                     *             }
                     *           ]
                     *         },
                     *         "events": {
                     *           "status": "ready",
                     *           "url": "http://localhost:3001/v2/events",
                     *           "response": {
                     *             "status": "ready",
                     *             "modulesReady": [
                     *               {
                     *                 "module": "broker",
                     *                 "driver": "nats-jetstream"
                     *               }
                     *             ]
                     *           }
                     *         }
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ReadinessReport"];
                };
            };
        };
    };
    getRuntimeReadiness: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["ServiceReady"];
        };
    };
    getEventsReadiness: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["ServiceReady"];
        };
    };
    getWorkspacesReadiness: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["ServiceReady"];
        };
    };
    getSearchengineReadiness: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["ServiceReady"];
        };
    };
    getCrawlerReadiness: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["ServiceReady"];
        };
    };
    getConfig: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings of this node. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Config"];
                };
            };
        };
    };
    setLogging: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "level": "debug"
                 *     }
                 */
                "application/json": components["schemas"]["Logging"];
            };
        };
        responses: {
            /** @description The level in force. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "level": "debug"
                     *     }
                     */
                    "application/json": components["schemas"]["Logging"];
                };
            };
        };
    };
    rebuildReadModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The read models were replaced. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "generation": 2,
                     *       "position": "DAAx",
                     *       "duration": 41
                     *     }
                     */
                    "application/json": components["schemas"]["RebuildReport"];
                };
            };
        };
    };
    rebuildSearchIndex: {
        parameters: {
            query?: {
                /** @description Only that of bases with this slug or id. */
                base?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The index was replaced. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "bases": 2,
                     *       "documents": 41,
                     *       "chunks": 312,
                     *       "duration": 41
                     *     }
                     */
                    "application/json": components["schemas"]["SearchRebuildReport"];
                };
            };
        };
    };
    verifyReadModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was found. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerifyReport"];
                };
            };
        };
    };
    listSigningKeys: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Keys on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys, without their private parts. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SigningKey"][];
                };
            };
        };
    };
    rotateSigningKeys: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What changed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyChange"];
                };
            };
        };
    };
    revokeSigningKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a signing key. */
                kid: components["parameters"]["Kid"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        kid: string;
                    };
                };
            };
        };
    };
    listLoginProviders: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ways to sign in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginProviders"];
                };
            };
        };
    };
    loginAnonymously: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Seconds after which the session ends. */
                    expiresAfter?: number;
                };
            };
        };
        responses: {
            /** @description The session, and the token that stands for it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginResult"];
                };
            };
        };
    };
    startProviderLogin: {
        parameters: {
            query?: {
                /** @description The slug of a provider. */
                provider?: string;
                /** @description The domain of a mail address, instead of a provider. */
                domain?: string;
                /** @description Where to go afterwards: an address of the console or of pages. */
                redirectUri?: string;
                /** @description The sign-in that goes on afterwards. */
                interaction?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No provider serves this domain. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        provider: "local";
                    };
                };
            };
            /** @description On to the provider. */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ada@example.org",
                 *       "password": "correct horse"
                 *     }
                 */
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description The session, and the token that stands for it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginResult"];
                };
            };
        };
    };
    loginSecondFactor: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A code of six digits. */
                    totp: string;
                };
            };
        };
        responses: {
            /** @description The session has its second factor. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
        };
    };
    exchangeToken: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenExchange"];
            };
        };
        responses: {
            /** @description The session, and the token that stands for it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginResult"];
                };
            };
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed out. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user and the session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    signup: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Signup"];
            };
        };
        responses: {
            /** @description The new account. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedUp"];
                };
            };
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description Accepted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
        };
    };
    validateUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Validation"];
            };
        };
        responses: {
            /** @description Accepted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        success: true;
                    };
                };
            };
        };
    };
    deleteUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Required for accounts with a password. */
                    currentPassword?: string;
                };
            };
        };
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserProfile"];
            };
        };
        responses: {
            /** @description The profile. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    setPhoto: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** Format: binary */
                    photo: string;
                };
            };
        };
        responses: {
            /** @description The profile. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    getPhoto: {
        parameters: {
            query: {
                /** @description The name of the picture, as `photo` of the user has it. */
                v: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a user.
                 * @example 65f1c0ffee65f1c0ffee65f1
                 */
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The picture. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/*": string;
                };
            };
        };
    };
    mergeUserMeta: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description What is kept now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    deleteUserMeta: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description A key of the data. */
                key: components["parameters"]["MetaKey"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is kept now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    setMfa: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MfaChange"];
            };
        };
        responses: {
            /** @description What to do next, or what holds now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MfaSetup"];
                };
            };
        };
    };
    listAccessTokens: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Tokens on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens, without their values. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessToken"][];
                };
            };
        };
    };
    createAccessToken: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "CI",
                 *       "expiresAt": "2027-01-01T00:00:00.000Z"
                 *     }
                 */
                "application/json": components["schemas"]["NewAccessToken"];
            };
        };
        responses: {
            /** @description The token with its value. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessToken"];
                };
            };
        };
    };
    deleteAccessToken: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an access token, or its value. */
                idOrToken: components["parameters"]["IdOrToken"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Sessions on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The live sessions, the last seen first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"][];
                };
            };
        };
    };
    endSession: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a session. */
                id: components["parameters"]["SessionIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended on every node. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    findContacts: {
        parameters: {
            query?: {
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
                /** @description Super admins only. */
                createdBefore?: string;
                /** @description Super admins only. */
                createdAfter?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ContactQuery"];
            };
        };
        responses: {
            /** @description Who was found, and how many there are. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contacts"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description Words of the names or the address. */
                search?: string;
                /** @description Only those in this state. */
                status?: "pending" | "validated" | "deactivated";
                /** @description Only those whose status is `validated`, or is not. */
                validated?: boolean;
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
                /** @description A field, or `-field` for the opposite order. */
                sort?: "updatedAt" | "-updatedAt" | "createdAt" | "-createdAt" | "email" | "-email" | "firstName" | "-firstName" | "lastName" | "-lastName";
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of users. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"][];
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            /** @description The new user. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    removeUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a user.
                 * @example 65f1c0ffee65f1c0ffee65f1
                 */
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    patchUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a user.
                 * @example 65f1c0ffee65f1c0ffee65f1
                 */
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserPatch"];
            };
        };
        responses: {
            /** @description The user. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    listUserSessions: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Sessions on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a user.
                 * @example 65f1c0ffee65f1c0ffee65f1
                 */
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The live sessions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"][];
                };
            };
        };
    };
    endUserSessions: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a user.
                 * @example 65f1c0ffee65f1c0ffee65f1
                 */
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended on every node. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    claimAdmin: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    email: string;
                    newPassword?: boolean;
                };
            };
        };
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        email: string;
                        password?: string;
                        super: boolean;
                    };
                };
            };
        };
    };
    finishProviderLogin: {
        parameters: {
            query?: {
                /** @description What the sign-in began with. */
                state?: string;
                /** @description What the provider gave. */
                code?: string;
                /** @description Why it gave nothing. */
                error?: string;
                /** @description The same in words. */
                error_description?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description On to where the sign-in began. */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listWorkspaces: {
        parameters: {
            query?: {
                /** @description Text of name, slug and description. */
                search?: string;
                /** @description Comma list. */
                slug?: string;
                /** @description Whether there is content that was not pushed. */
                dirty?: boolean;
                /** @description Those that were deleted and can be brought back. */
                deleted?: boolean;
                /** @description RE2, ignoring case. */
                name?: string;
                /** @description Comma list. */
                ids?: string;
                /** @description Comma list, any of. */
                labels?: string;
                /** @description A member. */
                email?: string;
                /** @description Only those the caller owns. */
                owned?: boolean;
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
                /** @description name, createdAt or updatedAt; with - before it the other way round. -updatedAt without it. */
                sort?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceMeta"][];
                };
            };
        };
    };
    createWorkspace: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Web shop",
                 *       "description": "Orders and their follow-up",
                 *       "photo": "https://example.com/shop.png",
                 *       "labels": [
                 *         "sales",
                 *         "team:web"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["NewWorkspace"];
            };
        };
        responses: {
            /** @description The answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentVerdict"];
                };
            };
            /** @description The new workspace. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    getWorkspace: {
        parameters: {
            query?: {
                /** @description The name of a version, or current. */
                version?: string;
                /** @description A time: what it was then. */
                at?: string;
                /** @description A sequence token or a content revision: what it was then. */
                atSeq?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workspace. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    deleteWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedId"];
                };
            };
        };
    };
    updateWorkspace: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Web shop",
                 *       "photo": null
                 *     }
                 */
                "application/json": components["schemas"]["WorkspaceChange"];
            };
        };
        responses: {
            /** @description The workspace as it is now. A dry run answers with a `DocumentVerdict` instead. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    getSecurity: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Security"];
                };
            };
        };
    };
    putSecurity: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Security"];
            };
        };
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Security"];
                };
            };
        };
    };
    listRoles: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Roles on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Built-in roles first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleMeta"][];
                };
            };
        };
    };
    explainAccess: {
        parameters: {
            query: {
                /** @description A user id; the caller without it. */
                user?: string;
                /** @description Such as read. */
                action: string;
                /** @description Such as pages. */
                subject: string;
                /** @description Of the object; without it, of the workspace. */
                id?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The decision and its grounds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Keys on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys, without their values. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"][];
                };
            };
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Uploader",
                 *       "rules": [
                 *         {
                 *           "action": "create",
                 *           "subject": "files"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["NewApiKey"];
            };
        };
        responses: {
            /** @description The key with its value. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    updateApiKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of an API key, or its value. */
                idOrValue: components["parameters"]["IdOrValue"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewApiKey"];
            };
        };
        responses: {
            /** @description The key, without its value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    deleteApiKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of an API key, or its value. */
                idOrValue: components["parameters"]["IdOrValue"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    listShares: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        result: components["schemas"]["Share"][];
                    };
                };
            };
        };
    };
    share: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Share"];
            };
        };
        responses: {
            /** @description The entry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Share"];
                };
            };
        };
    };
    unshare: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description A user id, `*`, or `role:{name}`. */
                target: components["parameters"]["Target"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    listCollections: {
        parameters: {
            query?: {
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
                /** @description A field, or `-field` for the opposite order. Without it by instance, schema and name. */
                sort?: "name" | "-name" | "rows" | "-rows" | "bytes" | "-bytes";
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description Only those of this group. */
                schema?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of collections. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Collection"][];
                };
            };
        };
    };
    deleteCollection: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                    };
                };
            };
        };
    };
    getCollectionSchema: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The declaration. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CollectionSchema"];
                };
            };
        };
    };
    putCollectionSchema: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "properties": {
                 *         "email": {
                 *           "type": "string",
                 *           "format": "email",
                 *           "required": true
                 *         },
                 *         "age": {
                 *           "type": "integer",
                 *           "minimum": 0
                 *         }
                 *       },
                 *       "uniques": [
                 *         [
                 *           "email"
                 *         ]
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["NewCollectionSchema"];
            };
        };
        responses: {
            /** @description The declaration; to a dry run a `DocumentVerdict` instead. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CollectionSchema"];
                };
            };
        };
    };
    listRows: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
                /**
                 * @description A condition on rows, as JSON.
                 * @example {"age":{"$gte":18}}
                 */
                query?: string;
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
                /** @description Fields by comma, `-field` for the opposite order. */
                sort?: string;
                /** @description Only these, by comma; id always. */
                fields?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Rows. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Row"][];
                    "text/csv": string;
                    "application/x-ndjson": string;
                };
            };
        };
    };
    createRow: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ann@example.org",
                 *       "age": 30
                 *     }
                 */
                "application/json": components["schemas"]["Row"];
            };
        };
        responses: {
            /** @description The row as it is stored. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Row"];
                };
            };
        };
    };
    getRow: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
            };
            header?: {
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
                /** @description The id of a row. */
                id: components["parameters"]["RowId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The row. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Row"];
                };
            };
        };
    };
    deleteRow: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
            };
            header?: {
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
                /** @description The id of a row. */
                id: components["parameters"]["RowId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedId"];
                };
            };
        };
    };
    updateRow: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
            };
            header?: {
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
                /** @description The id of a row. */
                id: components["parameters"]["RowId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "age": 31
                 *     }
                 */
                "application/json": components["schemas"]["Row"];
            };
        };
        responses: {
            /** @description The row as it is stored. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Row"];
                };
            };
        };
    };
    queryRows: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "query": {
                 *         "age": {
                 *           "$gte": 18
                 *         }
                 *       },
                 *       "sort": {
                 *         "age": -1
                 *       },
                 *       "limit": 10
                 *     }
                 */
                "application/json": components["schemas"]["RowQuery"];
            };
        };
        responses: {
            /** @description The rows, and how many meet the query. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundRows"];
                };
            };
        };
    };
    importRows: {
        parameters: {
            query?: {
                /** @description The full slug of the app instance whose collection it is; without, it is that of the workspace. */
                appInstance?: components["parameters"]["CollectionInstance"];
                /** @description The group that the collection is in. */
                schema?: components["parameters"]["CollectionSchema"];
                /** @description Change nothing and tell what would change. */
                dryRun?: boolean;
                /** @description The fields that rows are found by, by comma. */
                onConflictFields?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a collection.
                 * @example people
                 */
                name: components["parameters"]["CollectionName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
                "application/x-ndjson": string;
                "application/json": components["schemas"]["Row"][];
                "multipart/form-data": components["schemas"]["RowFile"];
            };
        };
        responses: {
            /** @description What became of the lines. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportedRows"];
                };
            };
        };
    };
    getGlobalContext: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    getUserContext: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The id of a user.
                 * @example 65f1c0ffee65f1c0ffee65f1
                 */
                userId: components["parameters"]["UserId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    getSessionContext: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a session. */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    listFiles: {
        parameters: {
            query?: {
                /** @description The page, from 0. */
                page?: number;
                /** @description Files on a page. */
                limit?: number;
                /** @description A field, or `-field` for the opposite order. */
                sort?: "name" | "-name" | "size" | "-size" | "mimetype" | "-mimetype" | "createdAt" | "-createdAt" | "updatedAt" | "-updatedAt";
                /**
                 * @description The same conditions as a JSON object of field and value.
                 * @example {"mimetype":"image/png"}
                 */
                query?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of files. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"][];
                };
            };
        };
    };
    uploadFiles: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["NewFiles"];
            };
        };
        responses: {
            /** @description The files, in the order of the form. `Location` is that of the first. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"][];
                };
            };
        };
    };
    getFile: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The id of a file.
                 * @example 3nHc0VqkQx-7Zt_1aBcDe
                 */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. One that has expired is 404. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
        };
    };
    replaceFile: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The id of a file.
                 * @example 3nHc0VqkQx-7Zt_1aBcDe
                 */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                };
            };
        };
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
        };
    };
    deleteFile: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The id of a file.
                 * @example 3nHc0VqkQx-7Zt_1aBcDe
                 */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    updateFile: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The id of a file.
                 * @example 3nHc0VqkQx-7Zt_1aBcDe
                 */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "logo.png",
                 *       "public": true
                 *     }
                 */
                "application/json": components["schemas"]["FileChange"];
            };
        };
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
        };
    };
    shareFile: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The id of a file.
                 * @example 3nHc0VqkQx-7Zt_1aBcDe
                 */
                id: components["parameters"]["FileId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Seconds.
                     * @default 60
                     */
                    expiresIn?: number;
                };
            };
        };
        responses: {
            /** @description The link. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileLink"];
                };
            };
        };
    };
    downloadFile: {
        parameters: {
            query?: {
                /** @description That of a link, or the `shareToken` of the file. It is 401 when it does not open the file (any more). */
                token?: string;
            };
            header?: {
                /**
                 * @description The bytes that are wanted.
                 * @example bytes=0-1023
                 */
                Range?: string;
                /** @description The `ETag` for which the range is meant; else the whole is sent. */
                "If-Range"?: string;
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /** @description The id of the workspace. */
                workspaceId: string;
                /** @description The id of the file. */
                fileId: string;
                /** @description What the file is called. The id alone counts. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The whole content. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            /** @description A part of it. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    listLabels: {
        parameters: {
            query?: {
                /** @description The page, from 0. */
                page?: number;
                /** @description 100 without it. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The labels. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
        };
    };
    undeleteWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    slug?: string;
                };
            };
        };
        responses: {
            /** @description The workspace. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    lockWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description The lock. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        writeLock: components["schemas"]["WriteLock"];
                    };
                };
            };
        };
    };
    unlockWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workspace is free. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedId"];
                };
            };
        };
    };
    listApps: {
        parameters: {
            query?: {
                /** @description Words that are in the slug, the name or the description. */
                text?: string;
                /** @description The app of this workspace, by its id or `slug:{slug}`. */
                workspaceId?: string;
                /** @description With one of these, separated by commas. */
                labels?: string;
                /** @description The page, from 0. */
                page?: number;
                /** @description Apps on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of apps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["App"][];
                };
            };
        };
    };
    publishApp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "workspaceId": "aB3dE7x",
                 *       "slug": "mailer"
                 *     }
                 */
                "application/json": components["schemas"]["NewApp"];
            };
        };
        responses: {
            /** @description A new version of the app. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["App"];
                };
            };
            /** @description The app. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["App"];
                };
            };
        };
    };
    getApp: {
        parameters: {
            query?: {
                /** @description The name of a version; absent or `current`: the newest. */
                version?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The slug of an app.
                 * @example mailer
                 */
                appSlug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The app. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppDetail"];
                };
            };
        };
    };
    deleteApp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The slug of an app.
                 * @example mailer
                 */
                appSlug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Taken back. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdAndSlug"];
                };
            };
        };
    };
    listAppInstances: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Instances on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The instances. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppInstanceDetail"][];
                };
            };
        };
    };
    installApp: {
        parameters: {
            query?: {
                /** @description Change nothing and tell what is wrong: `{errors, warnings}`. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "appSlug": "mailer",
                 *       "slug": "mail",
                 *       "config": {
                 *         "sender": "shop@example.com"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["NewAppInstance"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description What is wrong with it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentVerdict"];
                };
            };
            /** @description The instance. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppInstance"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    getAppInstance: {
        parameters: {
            query?: {
                /** @description As it was at this time. */
                at?: string;
                /** @description As it was at this sequence or content revision. */
                atSeq?: string;
                /** @description `current`; there are no other versions of a workspace yet. */
                version?: string;
            };
            header?: {
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The slug of an app instance.
                 * @example mail
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The instance. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppInstanceRead"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    replaceAppInstance: {
        parameters: {
            query?: {
                /** @description Change nothing and tell what is wrong: `{errors, warnings}`. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The slug of an app instance.
                 * @example mail
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "appSlug": "Mail",
                 *       "disabled": true
                 *     }
                 */
                "application/json": components["schemas"]["NewAppInstance"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The instance as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppInstance"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    uninstallApp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The slug of an app instance.
                 * @example mail
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Uninstalled. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdAndSlug"];
                };
            };
        };
    };
    updateAppInstance: {
        parameters: {
            query?: {
                /** @description Change nothing and tell what is wrong: `{errors, warnings}`. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The slug of an app instance.
                 * @example mail
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "disabled": true,
                 *       "appVersion": null
                 *     }
                 */
                "application/json": components["schemas"]["AppInstanceChange"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The instance as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppInstance"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    getAppInstanceConfig: {
        parameters: {
            query?: {
                /** @description As it was at this time. */
                at?: string;
                /** @description As it was at this sequence or content revision. */
                atSeq?: string;
                /** @description `current`; there are no other versions of a workspace yet. */
                version?: string;
            };
            header?: {
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The slug of an app instance.
                 * @example mail
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    updateAppInstanceConfig: {
        parameters: {
            query?: {
                /** @description Change nothing and tell what is wrong: `{errors, warnings}`. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The slug of an app instance.
                 * @example mail
                 */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "sender": "shop@example.com"
                 *     }
                 */
                "application/json": Record<string, never>;
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The instance as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppInstance"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    listAutomations: {
        parameters: {
            query?: {
                /** @description Text of slug, name and description. */
                search?: string;
                /** @description Comma list, any of. */
                labels?: string;
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
                /** @description slug, createdAt or updatedAt; with - before it the other way round. -updatedAt without it. */
                sort?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of those that the caller may read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AutomationMeta"][];
                };
            };
        };
    };
    createAutomation: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAutomation"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentVerdict"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Automation"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    getAutomation: {
        parameters: {
            query?: {
                /** @description The name of a version, or current. */
                version?: string;
                /** @description A time: what it was then. */
                at?: string;
                /** @description A sequence token or a content revision: what it was then. */
                atSeq?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It, or its file with `Accept: application/yaml`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Automation"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    replaceAutomation: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAutomation"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Automation"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    deleteAutomation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        slug: string;
                    };
                };
            };
        };
    };
    updateAutomation: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AutomationChange"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Automation"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    listPages: {
        parameters: {
            query?: {
                /** @description Text of slug, name and description. */
                search?: string;
                /** @description Comma list, any of. */
                labels?: string;
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
                /** @description slug, createdAt or updatedAt; with - before it the other way round. -updatedAt without it. */
                sort?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of those that the caller may read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageMeta"][];
                };
            };
        };
    };
    createPage: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPage"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentVerdict"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDetail"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    previewPage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PageDraft"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The draft is kept. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uri-reference
                         * @description A path of this host.
                         */
                        url: string;
                        /** Format: date-time */
                        expiresAt: string;
                    };
                };
            };
        };
    };
    getPage: {
        parameters: {
            query?: {
                /** @description The name of a version, or current. */
                version?: string;
                /** @description A time: what it was then. */
                at?: string;
                /** @description A sequence token or a content revision: what it was then. */
                atSeq?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It, or its file with `Accept: application/yaml`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDetail"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    replacePage: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPage"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDetail"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    deletePage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    updatePage: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PageChange"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDetail"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    listKnowledgeBases: {
        parameters: {
            query?: {
                /** @description Text of slug, name and description. */
                search?: string;
                /** @description Comma list, any of. */
                labels?: string;
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
                /** @description slug, createdAt or updatedAt; with - before it the other way round. -updatedAt without it. */
                sort?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of those that the caller may read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeBase"][];
                };
            };
        };
    };
    createKnowledgeBase: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKnowledgeBase"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentVerdict"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeBase"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    getKnowledgeBase: {
        parameters: {
            query?: {
                /** @description The name of a version, or current. */
                version?: string;
                /** @description A time: what it was then. */
                at?: string;
                /** @description A sequence token or a content revision: what it was then. */
                atSeq?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It, or its file with `Accept: application/yaml`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeBase"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    deleteKnowledgeBase: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        slug: string;
                    };
                };
            };
        };
    };
    updateKnowledgeBase: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeBaseChange"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeBase"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    searchKnowledgeBases: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeSearches"];
            };
        };
        responses: {
            /** @description What was found. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeSearchAnswer"];
                };
            };
        };
    };
    askKnowledgeBases: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeQuestions"];
            };
        };
        responses: {
            /** @description The answer, or a stream of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeAnswer"];
                    "text/event-stream": string;
                };
            };
        };
    };
    askKnowledgeBase: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeQuestion"];
            };
        };
        responses: {
            /** @description The answer, or a stream of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeAnswer"];
                    "text/event-stream": string;
                };
            };
        };
    };
    findInKnowledgeBase: {
        parameters: {
            query: {
                /** @description What is searched for. */
                q: string;
                /** @description How it is searched for. */
                mode?: "auto" | "text" | "vector" | "hybrid";
                /** @description Tags of which a document has one, separated by commas. */
                tags?: string;
                /** @description The page, from 0. */
                page?: number;
                /** @description Results on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was found. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeSearchAnswer"];
                };
            };
        };
    };
    searchKnowledgeBase: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeSearch"];
            };
        };
        responses: {
            /** @description What was found. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeSearchAnswer"];
                };
            };
        };
    };
    listKnowledgeBaseShares: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        result: components["schemas"]["Share"][];
                    };
                };
            };
        };
    };
    shareKnowledgeBase: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Share"];
            };
        };
        responses: {
            /** @description The entry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Share"];
                };
            };
        };
    };
    unshareKnowledgeBase: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
                /** @description A user id, `*`, or `role:{name}`. */
                target: components["parameters"]["Target"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Gone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    listAgents: {
        parameters: {
            query?: {
                /** @description Text of slug, name and description. */
                search?: string;
                /** @description Comma list, any of. */
                labels?: string;
                /** @description Those that are published, or those that are not. */
                published?: boolean;
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
                /** @description slug, createdAt or updatedAt; with - before it the other way round. -updatedAt without it. */
                sort?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of those that the caller may read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentMeta"][];
                };
            };
        };
    };
    createAgent: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAgent"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentVerdict"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    getAgent: {
        parameters: {
            query?: {
                /** @description The name of a version, or current. */
                version?: string;
                /** @description A time: what it was then. */
                at?: string;
                /** @description A sequence token or a content revision: what it was then. */
                atSeq?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It, or its file with `Accept: application/yaml`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    deleteAgent: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        slug: string;
                    };
                };
            };
        };
    };
    updateAgent: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentChange"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    publishAgent: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    unpublishAgent: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    sendAgentMessage: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end, 50 without it; at most the time that the gateway gives a request, less 5. */
                timeout?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAgentMessage"];
            };
        };
        responses: {
            /** @description The answer of the agent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentMessage"];
                    "text/event-stream": string;
                };
            };
            /** @description It is still being answered. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentMessage"];
                };
            };
        };
    };
    getAgentMessage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
                /** @description The id of the message. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentMessage"];
                };
            };
        };
    };
    streamAgentMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `id` of the last frame that was read: the stream goes on after it. */
                "Last-Event-ID"?: string;
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
                /** @description The id of the message. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The frames. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    cancelAgentMessage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
                /** @description The id of the message. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentMessage"];
                };
            };
        };
    };
    approveAgentCall: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
                /** @description The id of the message. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentApproval"];
            };
        };
        responses: {
            /** @description The message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentMessage"];
                    "text/event-stream": string;
                };
            };
            /** @description It is still being answered. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentMessage"];
                };
            };
        };
    };
    listAgentConversations: {
        parameters: {
            query?: {
                /** @description Those of everybody, for who manages the permissions of the agent. */
                all?: boolean;
                /** @description Part of the title. */
                search?: string;
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of conversations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentConversation"][];
                };
            };
        };
    };
    getAgentConversation: {
        parameters: {
            query?: {
                /** @description The page, from 0. */
                page?: number;
                /** @description Messages on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
                /** @description The id of the conversation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It, with its messages. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeAgentConversation"];
                };
            };
        };
    };
    deleteAgentConversation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
                /** @description The id of the conversation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    renameAgentConversation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the agent. */
                slug: string;
                /** @description The id of the conversation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentConversationChange"];
            };
        };
        responses: {
            /** @description It. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentConversation"];
                };
            };
        };
    };
    callMCP: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version of the protocol; without it, that of the message. */
                "Mcp-Protocol-Version"?: string;
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MCPMessage"];
            };
        };
        responses: {
            /** @description The answer to the message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MCPResponse"];
                    "text/event-stream": string;
                };
            };
            /** @description A notification was received. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listAgentShares: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        result: components["schemas"]["Share"][];
                    };
                };
            };
        };
    };
    shareAgent: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Share"];
            };
        };
        responses: {
            /** @description The entry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Share"];
                };
            };
        };
    };
    unshareAgent: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
                /** @description A user id, `*`, or `role:{name}`. */
                target: components["parameters"]["Target"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Gone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    listKnowledgeDocuments: {
        parameters: {
            query?: {
                /** @description How far it is. */
                status?: "pending" | "processing" | "ready" | "error";
                /** @description Where it comes from. */
                source?: "file" | "text" | "url" | "crawl";
                /** @description The source that made it. */
                sourceId?: string;
                /** @description Any of these, separated by commas. */
                tags?: string;
                /** @description Its language. */
                language?: string;
                /** @description Its media type. */
                mimetype?: string;
                /** @description Its key. */
                key?: string;
                /** @description Part of its name, its title, its address or a tag. */
                search?: string;
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
                /** @description A field, or `-field` for the opposite order. */
                sort?: "name" | "-name" | "title" | "-title" | "size" | "-size" | "mimetype" | "-mimetype" | "createdAt" | "-createdAt" | "updatedAt" | "-updatedAt";
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of documents. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeDocument"][];
                };
            };
        };
    };
    addKnowledgeDocument: {
        parameters: {
            query?: {
                /** @description Seconds to wait until the document is ready or has failed. */
                wait?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKnowledgeDocument"];
                "multipart/form-data": components["schemas"]["NewKnowledgeFiles"];
            };
        };
        responses: {
            /** @description The document, which was known. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeDocument"];
                };
            };
            /** @description The new document; of a form, all documents. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeDocument"] | components["schemas"]["KnowledgeDocument"][];
                };
            };
        };
    };
    addKnowledgeDocuments: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKnowledgeDocuments"];
            };
        };
        responses: {
            /** @description What became of each, in order. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeBulkItem"][];
                };
            };
        };
    };
    deleteKnowledgeDocuments: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeDeletion"];
            };
        };
        responses: {
            /** @description How many were deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deleted: number;
                    };
                };
            };
        };
    };
    getKnowledgeDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. One that has expired is 404. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeDocument"];
                };
            };
        };
    };
    deleteKnowledgeDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    updateKnowledgeDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeDocumentChange"];
            };
        };
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeDocument"];
                };
            };
        };
    };
    getKnowledgeDocumentContent: {
        parameters: {
            query?: {
                /** @description A revision; the newest without it. */
                revision?: number;
            };
            header?: {
                /**
                 * @description The bytes that are wanted.
                 * @example bytes=0-1023
                 */
                Range?: string;
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The content. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            /** @description A part of it. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    replaceKnowledgeDocumentContent: {
        parameters: {
            query?: {
                /** @description Seconds to wait until the document is ready or has failed. */
                wait?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKnowledgeDocument"];
                "multipart/form-data": components["schemas"]["NewKnowledgeFiles"];
            };
        };
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeDocument"];
                };
            };
        };
    };
    getKnowledgeDocumentText: {
        parameters: {
            query?: {
                /** @description A revision that is kept; the one that is searched without it. */
                revision?: number;
            };
            header?: {
                /**
                 * @description The bytes that are wanted.
                 * @example bytes=0-1023
                 */
                Range?: string;
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description A part of it. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
        };
    };
    listKnowledgeDocumentChunks: {
        parameters: {
            query?: {
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of passages. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeChunk"][];
                };
            };
        };
    };
    listKnowledgeDocumentRevisions: {
        parameters: {
            query?: {
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of revisions, the newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeRevision"][];
                };
            };
        };
    };
    reindexKnowledgeDocument: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description Its id, or `key:` and its key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description true without it. */
                    extract?: boolean;
                    fetch?: boolean;
                };
            };
        };
        responses: {
            /** @description The document. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeDocument"];
                };
            };
        };
    };
    reindexKnowledgeBase: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default false */
                    extract?: boolean;
                    /** @description Conditions as of automations on the fields of documents. */
                    filters?: Record<string, never>;
                };
            };
        };
        responses: {
            /** @description The operation. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    crawlKnowledgeSource: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description The id of the source. */
                sourceId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    full?: boolean;
                    allowMassRemoval?: boolean;
                };
            };
        };
        responses: {
            /** @description The crawl. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeCrawl"];
                };
            };
        };
    };
    listKnowledgeCrawls: {
        parameters: {
            query?: {
                /** @description Of this source only. */
                sourceId?: string;
                /** @description With this status only. */
                status?: "running" | "succeeded" | "failed" | "cancelled";
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of crawls; the newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeCrawl"][];
                };
            };
        };
    };
    getKnowledgeCrawl: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description The id of the crawl, which is an operation. */
                opId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The crawl. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeCrawl"];
                };
            };
        };
    };
    listKnowledgeCrawlPages: {
        parameters: {
            query?: {
                /** @description With this outcome only. */
                outcome?: "created" | "updated" | "unchanged" | "duplicate" | "skipped" | "failed" | "deleted";
                /** @description The page, from 0. */
                page?: number;
                /** @description Items on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The slug of the base. */
                slug: string;
                /** @description The id of the crawl, which is an operation. */
                opId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of pages; in the order in which they were visited. They are kept for 30 days. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeCrawlPage"][];
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The models. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LanguageModel"][];
                };
            };
        };
    };
    testModel: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description provider/id, or the id alone. */
                    model: string;
                };
            };
        };
        responses: {
            /** @description What became of the call. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ok: boolean;
                        /** @description Milliseconds. */
                        latency: number;
                        /** @description Of the vectors of an embedding model. */
                        dimensions?: number;
                        error?: {
                            reason: string;
                            message: string;
                        };
                    };
                };
            };
        };
    };
    listTests: {
        parameters: {
            query?: {
                /** @description Text of slug, name and description. */
                search?: string;
                /** @description Comma list, any of. */
                labels?: string;
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
                /** @description slug, createdAt or updatedAt; with - before it the other way round. -updatedAt without it. */
                sort?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of those that the caller may read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Test"][];
                };
            };
        };
    };
    createTest: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTest"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentVerdict"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Test"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    runTests: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Slugs of suites. */
                    suites?: string[];
                    /** @description Slugs of automations, whose suites run. */
                    automations?: string[];
                    /** @description Only cases whose `suite: name` has this text, in any case. */
                    cases?: string;
                    /** @description Drafts by `automations/{slug}` and `tests/{slug}`, as objects or as the text of their files; null: it is deleted. */
                    documents?: {
                        [key: string]: Record<string, never> | string | null;
                    };
                };
            };
        };
        responses: {
            /** @description What became of each case. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestReport"];
                };
            };
        };
    };
    checkDraft: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Its slug. */
                    automation: string;
                    /** @description The draft, as an object or as the text of its file. */
                    document: Record<string, never> | string;
                    /**
                     * @description How many of the last recorded runs.
                     * @default 20
                     */
                    runs?: number;
                };
            };
        };
        responses: {
            /** @description How the draft behaves in each run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DraftCheck"];
                };
            };
        };
    };
    makeTestFromRuns: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Its slug. */
                    automation: string;
                    /**
                     * @description How many of the last recorded runs.
                     * @default 20
                     */
                    runs?: number;
                };
            };
        };
        responses: {
            /** @description The suite. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestFromRuns"];
                };
            };
        };
    };
    getTest: {
        parameters: {
            query?: {
                /** @description The name of a version, or current. */
                version?: string;
                /** @description A time: what it was then. */
                at?: string;
                /** @description A sequence token or a content revision: what it was then. */
                atSeq?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It, or its file with `Accept: application/yaml`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Test"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    replaceTest: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTest"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Test"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    deleteTest: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        slug: string;
                    };
                };
            };
        };
    };
    updateTest: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TestChange"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Test"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    visitPage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The slug of a workspace, or one of its domains. */
                workspaceSlug: string;
                /** @description The slug of a page. */
                pageSlug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDetail"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    listPageShares: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /** @description The id of a page. */
                pageId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        result: components["schemas"]["Share"][];
                    };
                };
            };
        };
    };
    sharePage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a page. */
                pageId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Share"];
            };
        };
        responses: {
            /** @description The entry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Share"];
                };
            };
        };
    };
    unsharePage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a page. */
                pageId: string;
                /** @description A user id, `*`, or `role:{name}`. */
                target: components["parameters"]["Target"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Gone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    listBlocks: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description By name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["Block"];
                    };
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    putBlock: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The name of a block. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Block"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It was there, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
            /** @description It is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    deleteBlock: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The name of a block. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Gone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        slug: string;
                    };
                };
            };
        };
    };
    updateBlock: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The name of a block. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockChange"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description It was there, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
            /** @description It is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Block"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    listWaits: {
        parameters: {
            query?: {
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of those that the caller may read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wait"][];
                };
            };
        };
    };
    answerWait: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description That of the wait. */
                waitId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "event": "approval.given",
                 *       "payload": {
                 *         "by": "alice"
                 *       }
                 *     }
                 */
                "application/json": {
                    event: string;
                    payload?: Record<string, never>;
                };
            };
        };
        responses: {
            /** @description The event that was emitted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        correlationId: string;
                        event: {
                            id: string;
                            type: string;
                        };
                    };
                };
            };
        };
    };
    listProblems: {
        parameters: {
            query?: {
                /** @description Only those. */
                severity?: "error" | "warning";
                /** @description The path of a document, or a folder: `automations/charge`, `automations`. */
                object?: string;
                /** @description From 0. */
                page?: number;
                /** @description 20 without it. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of those that the caller may read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"][];
                };
            };
        };
    };
    listReferences: {
        parameters: {
            query?: {
                /** @description From 0. */
                page?: number;
                /** @description 100 without it. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of those that the caller may read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["References"][];
                };
            };
        };
    };
    getWorkspaceConfig: {
        parameters: {
            query?: {
                /** @description The name of a version, or current. */
                version?: string;
                /** @description A time: what it was then. */
                at?: string;
                /** @description A sequence token or a content revision: what it was then. */
                atSeq?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The config; what its schema calls secret is masked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceConfig"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    updateWorkspaceConfig: {
        parameters: {
            query?: {
                /** @description Check only: errors and warnings, no change. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that the change is based on. Another one by now is 409 with the reason `stale`.
                 * @example "1a"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkspaceConfigChange"];
                "application/yaml": Record<string, never>;
            };
        };
        responses: {
            /** @description The config, or the answer to a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceConfig"] | components["schemas"]["DocumentVerdict"];
                    "application/yaml": Record<string, never>;
                };
            };
        };
    };
    listSecrets: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description By name; never their values. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["Secret"];
                    };
                };
            };
        };
    };
    putSecrets: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: components["schemas"]["NewSecret"];
                };
            };
        };
        responses: {
            /** @description All secrets, without values. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["Secret"];
                    };
                };
            };
        };
    };
    patchSecrets: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: components["schemas"]["NewSecret"];
                };
            };
        };
        responses: {
            /** @description All secrets, without values. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["Secret"];
                    };
                };
            };
        };
    };
    deleteSecret: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The name of a secret. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Gone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                    };
                };
            };
        };
    };
    getSchema: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description The `ETag` that is known already. Still the same is 304.
                 * @example "1a"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The sort. */
                name: "index" | "security" | "automation" | "page" | "block" | "import" | "knowledgeBase" | "agent" | "test";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A JSON Schema of draft 2020-12. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    listHistory: {
        parameters: {
            query?: {
                /** @description Of one workspace only. */
                workspaceId?: string;
                /** @description Comma list of event types; `*` stands for any text: `workspaces.*`. */
                types?: string;
                /** @description Who did it: a user id, or `key:{id}`. */
                by?: string;
                /** @description Later than this time. */
                afterDate?: string;
                /** @description Earlier than this time. */
                beforeDate?: string;
                /** @description What it touched: `index`, `security`, `automations/charge`, `pages/*`. */
                object?: string;
                /** @description From 0. Not with cursor. */
                page?: number;
                /** @description How many at most. */
                limit?: number;
                /** @description Goes on where the last list ended, unmoved by new entries: take it from `Link`. */
                cursor?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryEntry"][];
                };
            };
        };
    };
    listWorkspaceHistory: {
        parameters: {
            query?: {
                /** @description Comma list of event types; `*` stands for any text: `workspaces.*`. */
                types?: string;
                /** @description Who did it: a user id, or `key:{id}`. */
                by?: string;
                /** @description Later than this time. */
                afterDate?: string;
                /** @description Earlier than this time. */
                beforeDate?: string;
                /** @description What it touched: `index`, `security`, `automations/charge`, `pages/*`. */
                object?: string;
                /** @description From 0. Not with cursor. */
                page?: number;
                /** @description How many at most. */
                limit?: number;
                /** @description Goes on where the last list ended, unmoved by new entries: take it from `Link`. */
                cursor?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryEntry"][];
                };
            };
        };
    };
    diffWorkspace: {
        parameters: {
            query: {
                /** @description `current`, `seq:{token or contentRevision}`, `at:{time}`, the name of a version, or `base:{repositoryId}` and `remote:{repositoryId}`: what was last integrated of a repository, and what it has now. */
                from: string;
                /** @description As `from`. */
                to?: string;
                /** @description One object only: `index`, `automations/charge`, `pages/*`. */
                object?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What differs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Difference"];
                };
            };
        };
    };
    restoreWorkspace: {
        parameters: {
            query?: {
                /** @description Tell what would change and change nothing. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "at": "2025-06-01T12:00:00.000Z",
                 *       "dryRun": true
                 *     }
                 */
                "application/json": components["schemas"]["RestoreRequest"];
            };
        };
        responses: {
            /** @description What became of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Restoration"];
                };
            };
        };
    };
    undoChange: {
        parameters: {
            query?: {
                /** @description Tell what would change and change nothing. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "seq": "BQAa"
                 *     }
                 */
                "application/json": components["schemas"]["UndoRequest"];
            };
        };
        responses: {
            /** @description What became of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Restoration"];
                };
            };
        };
    };
    duplicateWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description `current`, or the name of a version. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Shop copy"
                 *     }
                 */
                "application/json": components["schemas"]["DuplicateRequest"];
            };
        };
        responses: {
            /** @description The copy. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    exportWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
        };
    };
    exportVersion: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a version; `current` is what there is now.
                 * @example current
                 */
                name: components["parameters"]["VersionName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
        };
    };
    exportVersionByPost: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /**
                 * @description The name of a version; `current` is what there is now.
                 * @example current
                 */
                name: components["parameters"]["VersionName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
        };
    };
    importWorkspace: {
        parameters: {
            query?: {
                /** @description Delete automations, pages and app instances that the archive lacks. */
                prune?: components["parameters"]["Prune"];
                /** @description A wrong checksum is a warning only. */
                force?: components["parameters"]["Force"];
                /** @description Any error refuses the archive. */
                strict?: components["parameters"]["Strict"];
                /** @description Import only when this is still the `contentRevision`, else 409 `stale`: whoever changed the content since loses nothing. A dry run does not look at it. */
                ifRevision?: components["parameters"]["IfRevision"];
                /** @description Change nothing and tell what would change. */
                dryRun?: components["parameters"]["ImportDryRun"];
                /** @description Seconds, or `15s`. Imports end within the request. */
                timeout?: components["parameters"]["OperationTimeout"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/zip": string;
                "multipart/form-data": {
                    /** Format: binary */
                    archive: string;
                };
            };
        };
        responses: {
            /** @description What was imported, or would be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResult"];
                };
            };
            /** @description It goes on after the wait; follow the operation. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processing"];
                };
            };
        };
    };
    importWorkspaces: {
        parameters: {
            query?: {
                /** @description Delete automations, pages and app instances that the archive lacks. */
                prune?: components["parameters"]["Prune"];
                /** @description A wrong checksum is a warning only. */
                force?: components["parameters"]["Force"];
                /** @description Any error refuses the archive. */
                strict?: components["parameters"]["Strict"];
                /** @description Change nothing and tell what would change. */
                dryRun?: components["parameters"]["ImportDryRun"];
                /** @description Seconds, or `15s`. Imports end within the request. */
                timeout?: components["parameters"]["OperationTimeout"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/zip": string;
                "multipart/form-data": {
                    /** Format: binary */
                    archive: string;
                };
            };
        };
        responses: {
            /** @description What would be imported. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResult"];
                };
            };
            /** @description What was imported. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResult"];
                };
            };
        };
    };
    exportWorkspaces: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "workspaces": {
                 *         "query": {
                 *           "labels": [
                 *             "env:prod"
                 *           ]
                 *         },
                 *         "pagination": {
                 *           "page": 0,
                 *           "limit": 20
                 *         }
                 *       },
                 *       "includeApps": true
                 *     }
                 */
                "application/json": components["schemas"]["ExportRequest"];
            };
        };
        responses: {
            /** @description The archive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
        };
    };
    listOperations: {
        parameters: {
            query?: {
                /** @description Of this kind only. */
                kind?: "push" | "pull" | "import" | "resolve" | "bulkPush" | "bulkImport" | "replay" | "crawl" | "reindex";
                /** @description In this status only. */
                status?: "queued" | "running" | "succeeded" | "failed" | "conflict" | "cancelled";
                /** @description From 0. */
                page?: number;
                /** @description How many at most. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"][];
                };
            };
        };
    };
    getOperation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of the operation. */
                opId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operation. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    streamOperation: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `id` of the last event that was read: the stream goes on after it. */
                "Last-Event-ID"?: string;
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of the operation. */
                opId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    cancelOperation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of the operation. */
                opId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operation. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    testRepository: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a repository. */
                repositoryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What came of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RepositoryTest"];
                };
            };
        };
    };
    listVersions: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Versions on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"][];
                };
            };
        };
    };
    pushVersion: {
        parameters: {
            query?: {
                /** @description Seconds, or `15s`. Imports end within the request. */
                timeout?: components["parameters"]["OperationTimeout"];
                /** @description Of a bulk run: tell of it as it goes, as Server-Sent Events. */
                sse?: components["parameters"]["BulkStream"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PushRequest"];
            };
        };
        responses: {
            /** @description Of the platform workspace, the result or the plan of a bulk push. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkPushResult"] | components["schemas"]["BulkPushPlan"];
                    "text/event-stream": string;
                };
            };
            /** @description The version. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
            /** @description It goes on after the wait; follow the operation. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processing"];
                };
            };
        };
    };
    pushWorkspace: {
        parameters: {
            query?: {
                /** @description Seconds, or `15s`. Imports end within the request. */
                timeout?: components["parameters"]["OperationTimeout"];
                /** @description Of a bulk run: tell of it as it goes, as Server-Sent Events. */
                sse?: components["parameters"]["BulkStream"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PushRequest"];
            };
        };
        responses: {
            /** @description Of the platform workspace, the result or the plan of a bulk push. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkPushResult"] | components["schemas"]["BulkPushPlan"];
                    "text/event-stream": string;
                };
            };
            /** @description The version. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
            /** @description It goes on after the wait; follow the operation. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processing"];
                };
            };
        };
    };
    deleteVersion: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The name of a version. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is forgotten. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedId"];
                };
            };
        };
    };
    pullVersion: {
        parameters: {
            query?: {
                /** @description Seconds, or `15s`. Imports end within the request. */
                timeout?: components["parameters"]["OperationTimeout"];
                /** @description Of a bulk run: tell of it as it goes, as Server-Sent Events. */
                sse?: components["parameters"]["BulkStream"];
                /** @description Change nothing: no lock, nothing is sent. */
                dryRun?: components["parameters"]["PullDryRun"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The name of a version. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PullRequest"];
            };
        };
        responses: {
            /** @description What was imported; what would be, for a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PullResult"] | components["schemas"]["PullPlan"] | components["schemas"]["BulkImportResult"] | components["schemas"]["BulkImportPlan"];
                    "text/event-stream": string;
                };
            };
            /** @description It goes on after the wait; follow the operation. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processing"];
                };
            };
        };
    };
    pullWorkspace: {
        parameters: {
            query?: {
                /** @description Seconds, or `15s`. Imports end within the request. */
                timeout?: components["parameters"]["OperationTimeout"];
                /** @description Of a bulk run: tell of it as it goes, as Server-Sent Events. */
                sse?: components["parameters"]["BulkStream"];
                /** @description Change nothing: no lock, nothing is sent. */
                dryRun?: components["parameters"]["PullDryRun"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PullRequest"];
            };
        };
        responses: {
            /** @description What was imported; what would be, for a dry run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PullResult"] | components["schemas"]["PullPlan"] | components["schemas"]["BulkImportResult"] | components["schemas"]["BulkImportPlan"];
                    "text/event-stream": string;
                };
            };
            /** @description It goes on after the wait; follow the operation. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processing"];
                };
            };
        };
    };
    getStatus: {
        parameters: {
            query?: {
                /** @description The repository that `state` and `changes` are about; else the last one pushed to or pulled from. */
                repository?: string;
                /** @description Ask the remotes now. */
                refresh?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How it stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceStatus"];
                };
            };
        };
    };
    getConflicts: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The files in conflict, none when there is no conflict. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conflicts"];
                };
            };
        };
    };
    resolveConflicts: {
        parameters: {
            query?: {
                /** @description Seconds, or `15s`. Imports end within the request. */
                timeout?: components["parameters"]["OperationTimeout"];
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResolveRequest"];
            };
        };
        responses: {
            /** @description What was imported. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PullResult"];
                };
            };
            /** @description It goes on after the wait; follow the operation. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processing"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description Comma list of event types, any of; `*` stands for any text: `workspaces.*`. */
                types?: string;
                /** @description Words that all must be somewhere in the event, ignoring case; `word*` is the beginning of one. */
                text?: string;
                /** @description Later than this time. */
                afterDate?: string;
                /** @description Earlier than this time. */
                beforeDate?: string;
                /** @description Events of app instances up to this depth; -1 for all. Events without one always match. */
                appInstanceDepth?: number;
                /** @description After this position: the `seq` of an event, an `x-svc-seq`, or a `contentRevision`. */
                fromSeq?: string;
                /** @description Up to this position. */
                toSeq?: string;
                /** @description Older than the event with this id. */
                beforeId?: string;
                /** @description The last first, or the first. */
                sort?: "desc" | "asc";
                /** @description From 0. Not with cursor, and not further than 10,000 events. */
                page?: number;
                /** @description How many at most. */
                limit?: number;
                /** @description Goes on where the last page ended, unmoved by new events. */
                cursor?: string;
            };
            header?: {
                /** @description The `id` of the last frame that was read: the stream goes on after it. It wins over fromSeq. */
                "Last-Event-ID"?: string;
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        result: {
                            events: components["schemas"]["Event"][];
                            /** @description Goes on after the last event; absent on the last page. */
                            cursor?: string;
                        };
                    };
                    "application/cloudevents-batch+json": components["schemas"]["CloudEvent"][];
                    "application/x-ndjson": string;
                    "text/event-stream": string;
                };
            };
        };
    };
    emitEvents: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "events": [
                 *         {
                 *           "type": "order.paid",
                 *           "payload": {
                 *             "order": 4711,
                 *             "amount": 12.5
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["NewEvents"];
            };
        };
        responses: {
            /** @description The events, in the order given. `Location` is that of the first that is kept. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                };
            };
        };
    };
    streamEvents: {
        parameters: {
            query?: {
                /** @description Comma list of event types, any of; `*` stands for any text: `workspaces.*`. */
                types?: string;
                /** @description Words that all must be somewhere in the event, ignoring case; `word*` is the beginning of one. */
                text?: string;
                /** @description Later than this time. */
                afterDate?: string;
                /** @description Earlier than this time. */
                beforeDate?: string;
                /** @description Events of app instances up to this depth; -1 for all. Events without one always match. */
                appInstanceDepth?: number;
                /** @description After this position: the `seq` of an event, an `x-svc-seq`, or a `contentRevision`. */
                fromSeq?: string;
            };
            header?: {
                /** @description The `id` of the last frame that was read: the stream goes on after it. It wins over fromSeq. */
                "Last-Event-ID"?: string;
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    eventSocket: {
        parameters: {
            query?: {
                /** @description Comma list of event types, any of; `*` stands for any text: `workspaces.*`. */
                types?: string;
                /** @description Words that all must be somewhere in the event, ignoring case; `word*` is the beginning of one. */
                text?: string;
                /** @description Later than this time. */
                afterDate?: string;
                /** @description Earlier than this time. */
                beforeDate?: string;
                /** @description Events of app instances up to this depth; -1 for all. Events without one always match. */
                appInstanceDepth?: number;
                /** @description After this position: the `seq` of an event, an `x-svc-seq`, or a `contentRevision`. */
                fromSeq?: string;
                /** @description An earlier socket of the same session, to be taken over. */
                socketId?: string;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getEvent: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of the event. */
                eventId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"];
                    "application/cloudevents+json": components["schemas"]["CloudEvent"];
                };
            };
        };
    };
    streamAllEvents: {
        parameters: {
            query?: {
                /** @description Comma list of event types, any of; `*` stands for any text: `workspaces.*`. */
                types?: string;
                /** @description Words that all must be somewhere in the event, ignoring case; `word*` is the beginning of one. */
                text?: string;
                /** @description Later than this time. */
                afterDate?: string;
                /** @description Earlier than this time. */
                beforeDate?: string;
                /** @description Events of app instances up to this depth; -1 for all. Events without one always match. */
                appInstanceDepth?: number;
                /** @description After this position: the `seq` of an event, an `x-svc-seq`, or a `contentRevision`. */
                fromSeq?: string;
            };
            header?: {
                /** @description The `id` of the last frame that was read: the stream goes on after it. It wins over fromSeq. */
                "Last-Event-ID"?: string;
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    listNATSUsers: {
        parameters: {
            query?: {
                /** @description The page, from 0. Without page and limit the answer is the whole list. */
                page?: number;
                /** @description Programs on a page; 20 when only page is given. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The programs that may watch, in the order of their ids. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NATSUser"][];
                };
            };
        };
    };
    createNATSUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    publicKey: string;
                    workspaces?: string[];
                    all?: boolean;
                    types?: string[];
                    /** Format: date-time */
                    expiresAt?: string;
                };
            };
        };
        responses: {
            /** @description It may watch. `jwt` goes with the key into its credentials; `listening` says whether NATS_LISTEN is set. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        name: string;
                        workspaces: string[];
                        all: boolean;
                        types: string[];
                        publicKey: string;
                        /** Format: date-time */
                        expiresAt?: string;
                        jwt: string;
                        listening: boolean;
                    };
                };
            };
        };
    };
    deleteNATSUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Shut out. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    searchAllEvents: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "query": {
                 *         "range": {
                 *           "@timestamp": {
                 *             "gte": "now-1d"
                 *           }
                 *         }
                 *       },
                 *       "limit": 0,
                 *       "aggs": {
                 *         "places": {
                 *           "terms": {
                 *             "field": "source.workspaceId",
                 *             "size": 20
                 *           }
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["SearchRequest"];
            };
        };
        responses: {
            /** @description What was found. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResult"];
                };
            };
        };
    };
    callEndpoint: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The path of the endpoint, with the app instance and a dot in front for one of an app. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
                "application/x-www-form-urlencoded": Record<string, never>;
                "multipart/form-data": Record<string, never>;
                "text/plain": string;
                "*/*": unknown;
            };
        };
        responses: {
            /** @description What the automation answers; it may set another status, and headers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/plain": string;
                    "application/octet-stream": string;
                    "text/event-stream": string;
                    "*/*": unknown;
                };
            };
        };
    };
    callEndpointByPut: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The path of the endpoint, with the app instance and a dot in front for one of an app. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
                "application/x-www-form-urlencoded": Record<string, never>;
                "multipart/form-data": Record<string, never>;
                "text/plain": string;
                "*/*": unknown;
            };
        };
        responses: {
            /** @description What the automation answers; it may set another status, and headers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/plain": string;
                    "application/octet-stream": string;
                    "text/event-stream": string;
                    "*/*": unknown;
                };
            };
        };
    };
    callEndpointByPost: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The path of the endpoint, with the app instance and a dot in front for one of an app. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
                "application/x-www-form-urlencoded": Record<string, never>;
                "multipart/form-data": Record<string, never>;
                "text/plain": string;
                "*/*": unknown;
            };
        };
        responses: {
            /** @description What the automation answers; it may set another status, and headers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/plain": string;
                    "application/octet-stream": string;
                    "text/event-stream": string;
                    "*/*": unknown;
                };
            };
        };
    };
    callEndpointByDelete: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The path of the endpoint, with the app instance and a dot in front for one of an app. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
                "application/x-www-form-urlencoded": Record<string, never>;
                "multipart/form-data": Record<string, never>;
                "text/plain": string;
                "*/*": unknown;
            };
        };
        responses: {
            /** @description What the automation answers; it may set another status, and headers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/plain": string;
                    "application/octet-stream": string;
                    "text/event-stream": string;
                    "*/*": unknown;
                };
            };
        };
    };
    callEndpointByPatch: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The path of the endpoint, with the app instance and a dot in front for one of an app. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
                "application/x-www-form-urlencoded": Record<string, never>;
                "multipart/form-data": Record<string, never>;
                "text/plain": string;
                "*/*": unknown;
            };
        };
        responses: {
            /** @description What the automation answers; it may set another status, and headers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/plain": string;
                    "application/octet-stream": string;
                    "text/event-stream": string;
                    "*/*": unknown;
                };
            };
        };
    };
    testAutomation: {
        parameters: {
            query?: {
                /** @description Keep what is needed to replay the run, whatever the setting. */
                record?: boolean;
                /** @description Answer 202 as soon as the run has begun; it is found by its correlation id. */
                async?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description Its slug; a / in it may be raw or %2F. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The input. */
                    payload?: Record<string, never>;
                };
                "multipart/form-data": Record<string, never>;
            };
        };
        responses: {
            /** @description What the automation answers; it may set another status, and headers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/plain": string;
                    "application/octet-stream": string;
                    "text/event-stream": string;
                    "*/*": unknown;
                };
            };
            /** @description The run has begun (`async`). */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        correlationId: string;
                    };
                };
            };
        };
    };
    listRuns: {
        parameters: {
            query?: {
                /** @description Runs that began with this automation, with its instance in front. */
                automation?: string;
                /** @description In this status only. */
                status?: "running" | "waiting" | "succeeded" | "failed" | "cancelled";
                /** @description That began at this time or later: RFC 3339, or a day. */
                from?: string;
                /** @description That began before this time. */
                to?: string;
                /** @description From 0. */
                page?: number;
                /** @description How many at most. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"][];
                };
            };
        };
    };
    getRun: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The correlation id of the run. */
                correlationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeRun"];
                };
            };
        };
    };
    replayRun: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The correlation id of the run. */
                correlationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Which documents are executed.
                     * @default recorded
                     * @enum {string}
                     */
                    document?: "recorded" | "current";
                    /** @description Only the tree that this execution is the first of. */
                    executionId?: string;
                };
            };
        };
        responses: {
            /** @description What became of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayedRun"];
                };
            };
        };
    };
    cancelRun: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description That of the run. */
                correlationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many trees of the run were under way. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        correlationId: string;
                        cancelled: number;
                    };
                };
            };
        };
    };
    searchEvents: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "query": {
                 *         "bool": {
                 *           "filter": [
                 *             {
                 *               "term": {
                 *                 "type": "runtime.automations.executed"
                 *               }
                 *             },
                 *             {
                 *               "range": {
                 *                 "@timestamp": {
                 *                   "gte": "now-24h"
                 *                 }
                 *               }
                 *             }
                 *           ]
                 *         }
                 *       },
                 *       "limit": 0,
                 *       "aggs": {
                 *         "hours": {
                 *           "date_histogram": {
                 *             "field": "@timestamp",
                 *             "calendar_interval": "hour"
                 *           },
                 *           "aggs": {
                 *             "latency": {
                 *               "percentiles": {
                 *                 "field": "payload.duration",
                 *                 "percents": [
                 *                   50,
                 *                   95,
                 *                   99
                 *                 ]
                 *               }
                 *             }
                 *           }
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["SearchRequest"];
            };
        };
        responses: {
            /** @description What was found. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResult"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query: {
                /**
                 * @description From this time on: RFC 3339, or a day.
                 * @example 2026-11-01
                 */
                afterDate: string;
                /**
                 * @description Up to this time
                 * @example 2026-12-01
                 */
                beforeDate: string;
                /** @description Also the usage of each day or month; at most 3700 of them. */
                interval?: "month" | "day";
                /** @description Also that of each instance of an app, and of the apps in each interval. */
                details?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The usage; zeros when there was none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
        };
    };
    cleanIndices: {
        parameters: {
            query?: {
                /** @description Erase nothing and tell what would be erased. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "retention": 1080,
                 *       "workspaceMaxEvents": 50,
                 *       "workspaceInactivityDays": 30,
                 *       "workspaceIds": [
                 *         "k3Jx9Qa"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["CleanIndices"];
            };
        };
        responses: {
            /** @description What was erased, or would be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CleanedIndices"];
                };
            };
        };
    };
    cleanExecutions: {
        parameters: {
            query?: {
                /** @description Erase nothing and tell what would be erased. */
                dryRun?: boolean;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "automationExecutedExpiration": "14d"
                 *     }
                 */
                "application/json": components["schemas"]["CleanExecutions"];
            };
        };
        responses: {
            /** @description What was erased, or would be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CleanedExecutions"];
                };
            };
        };
    };
    listSubscriptions: {
        parameters: {
            query?: {
                /** @description The page, from 0. */
                page?: number;
                /** @description Subscriptions on a page. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of subscriptions, the one that was changed last first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"][];
                };
            };
        };
    };
    createSubscription: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://shop.example/hooks",
                 *       "types": [
                 *         "orders.*"
                 *       ],
                 *       "filters": {
                 *         "payload.status": "paid"
                 *       },
                 *       "orderKey": "payload.order"
                 *     }
                 */
                "application/json": components["schemas"]["NewSubscription"];
            };
        };
        responses: {
            /** @description The subscription, with its secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    getSubscription: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscription. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    deleteSubscription: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedId"];
                };
            };
        };
    };
    updateSubscription: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "disabled": false
                 *     }
                 */
                "application/json": components["schemas"]["SubscriptionPatch"];
            };
        };
        responses: {
            /** @description The subscription. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description How far they are. */
                status?: "pending" | "succeeded" | "failed" | "dead";
                /** @description Comma list of event types, exact or with `*`. */
                eventType?: string;
                /** @description Begun after it. */
                afterDate?: string;
                /** @description Begun before it. */
                beforeDate?: string;
                /** @description The page, from 0. */
                page?: number;
                /** @description 50 without it. */
                limit?: number;
            };
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description An `x-svc-seq` of another caller's write, or a `contentRevision`: the read waits up to 2 s until the read model
                 *     has come so far, else 503 with the reason `read_model_behind`.
                 */
                "x-svc-min-seq"?: components["parameters"]["MinSeq"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"][];
                };
            };
        };
    };
    redeliver: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a subscription. */
                subscriptionId: string;
                /** @description The id of a delivery. */
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery, which waits for its attempt. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
    replaySubscription: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "afterDate": "2026-01-31T12:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["ReplayRequest"];
            };
        };
        responses: {
            /** @description The operation. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processing"];
                };
            };
        };
    };
    rotateSecret: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap": 3600
                 *     }
                 */
                "application/json": components["schemas"]["SecretRotation"];
            };
        };
        responses: {
            /** @description The subscription, with its new secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    testSubscription: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Asks for the behaviour as it was on that day. Without it, the latest.
                 * @example 2025-01-01
                 */
                "X-Svc-API-Version"?: components["parameters"]["ApiVersion"];
                /**
                 * @description 1 to 255 printable characters. The same key of the same caller within 24 hours gets the first successful answer
                 *     again, with `Idempotency-Replayed`; of a stream, its last frame. Used for another method, path or body it is 409 with
                 *     the reason `idempotency_key_reused`. An automation whose answer could not be kept is not run again either: that is
                 *     409 with the reason `not_recorded` and the `correlationId` of the run. Without a credential it is ignored: an IP may be
                 *     many callers.
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The id of a workspace, or `slug:{workspaceSlug}`.
                 * @example aB3dE7x
                 */
                workspaceId: components["parameters"]["WorkspaceId"];
                /** @description The id of a subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
        };
    };
}

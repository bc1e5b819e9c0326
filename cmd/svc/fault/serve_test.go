//go:build fault

package fault

import "errors"

func serve() error { return errors.New("not yet") }

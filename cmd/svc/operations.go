package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/domain/operation"
)

func followCommand(w environment) *cobra.Command {
	r := &remote{environment: w}
	return r.command(&cobra.Command{
		Use: "follow WORKSPACE OPERATION", Short: "Follow an operation until it has ended",
		Long: "Follow an operation from its first step until it has ended. Ctrl-C stops following, never the operation.",
		Args: requireArguments(theWorkspace, "an operation, by its id"),
	}, func(ctx context.Context, args []string) error {
		op, err := r.watch(ctx, func(show func(client.Frame)) (client.Operation, error) {
			return r.Follow(ctx, r.workspace, args[1], show)
		})
		if err != nil {
			return err
		}
		switch op.Kind {
		case operation.Push:
			return r.printPushResult(op.Result)
		case operation.BulkPush, operation.BulkImport:
			return r.printBulkResult(op.Result)
		}
		return r.printPullResult(op.Result)
	})
}

func cancelCommand(w environment) *cobra.Command {
	r := &remote{environment: w}
	return r.command(&cobra.Command{
		Use: "cancel WORKSPACE OPERATION", Short: "Ask an operation to stop",
		Long: "Ask an operation to stop. One that has passed the point of no return completes all the same.",
		Args: requireArguments(theWorkspace, "an operation, by its id"),
	}, func(ctx context.Context, args []string) error {
		var op client.Operation
		got, err := r.Call(ctx, http.MethodPost, client.OperationPath(r.workspace, args[1])+"/cancel", nil, &op)
		if err != nil {
			return err
		}
		return r.printResult(got.Body, func() string {
			return fmt.Sprintf("%s was asked to stop; to see how it ends: %s\n", op.ID, r.commandLine("follow", r.named, op.ID))
		})
	})
}

// start sends a call that may take long, shows how it goes on, and returns how it
// ended.
func (r *remote) start(ctx context.Context, path string, body any) (client.Operation, error) {
	return r.watch(ctx, func(show func(client.Frame)) (client.Operation, error) {
		return r.Start(ctx, r.workspace, path, body, show)
	})
}

// watch shows an operation until it has ended. A user who interrupts it sees how to
// come back.
func (r *remote) watch(ctx context.Context, follow func(show func(client.Frame)) (client.Operation, error)) (client.Operation, error) {
	display := r.newDisplay()
	op, err := follow(display.showFrame)
	display.clearFoot()
	if err == nil {
		return op, op.Err()
	}
	_, lost := errors.AsType[*client.Unreachable](err)
	switch {
	case op.ID == "" && ctx.Err() != nil:
		return op, fmt.Errorf("interrupted before the service answered: `%s` tells whether it began", r.commandLine("status", r.named))
	case op.ID == "" || ctx.Err() == nil && !lost:
		return op, err
	case ctx.Err() != nil:
		err = errors.New("stopped following")
	}
	return op, fmt.Errorf("%w; operation %s goes on\nto follow it: %s\nto cancel it: %s",
		err, op.ID, r.commandLine("follow", r.named, op.ID), r.commandLine("cancel", r.named, op.ID))
}

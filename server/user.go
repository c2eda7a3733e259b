package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"text/tabwriter"

	"schakel/delivery/outbound"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/server/cli"
	"schakel/store"
)

// UserCmd holds the commands for portal accounts. They write to the database
// directly, also while the program runs.
type UserCmd struct {
	Add          UserAddCmd          `cmd:"" help:"Make an account and print the link with which its owner chooses a password."`
	Reset        UserResetCmd        `cmd:"" help:"Print a link with which the owner of an account chooses a new password."`
	ResetFactors UserResetFactorsCmd `cmd:"" help:"Take the second factors from an account whose owner lost them."`
	List         UserListCmd         `cmd:"" help:"List the accounts of the administrators, or of a partner."`
}

// LinkFlags locate the data and set the address with which links begin.
type LinkFlags struct {
	RegistryFlags
}

func (f LinkFlags) link(purpose registry.LinkPurpose, token string) string {
	return strings.TrimRight(f.BaseURL, "/") + purpose.Path(token)
}

// withAccounts opens the database for one command. What it changes is mailed as when the portal does it, by the program that runs.
func (f LinkFlags) withAccounts(ctx context.Context, streams cli.Streams, log *slog.Logger, do func(*store.DB, *identity.Accounts) error) error {
	db, err := openStore(ctx, f.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	accounts, err := identity.NewAccounts(db, cli.Clock)
	if err != nil {
		return err
	}
	if cfg, err := f.mailed(ctx, db, streams, log); err != nil {
		return err
	} else if cfg != nil {
		if err := accounts.Configure(*cfg, nil); err != nil {
			return err
		}
	}
	return do(db, accounts)
}

// mailed returns what a command mails its changes by: the key that mails are sealed with, above all. Without that key it is nil, and says that
// nobody is mailed: whoever lost the key, or did not name it, still has to get in.
func (f RegistryFlags) mailed(ctx context.Context, db *store.DB, streams cli.Streams, log *slog.Logger) (*registry.Config, error) {
	own, err := db.OwnPartner(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // before the first start there is nobody to mail
	}
	if err != nil {
		return nil, fmt.Errorf("find own organisation: %w", err)
	}
	if _, err := f.keys().OpenExisting(ctx); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(streams.Err, "nobody is mailed of this: %s is not there (--secret-key-file, --key-variable or --key-command)\n", f.keys())
		return nil, nil
	}
	flags := registryFlags{keys: f.keys(), baseURL: strings.TrimRight(f.BaseURL, "/"), organisation: own.Name}
	cfg, err := registryConfig(ctx, db, outbound.New(outbound.Config{}), flags, log)
	return &cfg, err
}

// UserAddCmd makes an account.
type UserAddCmd struct {
	LinkFlags
	Email   string `arg:"" help:"E-mail address."`
	Name    string `required:"" placeholder:"NAME" help:"Name of the person."`
	Role    string `enum:"administrator,approver,operator,auditor,manager,integrator,reader,partner" default:"administrator" help:"administrator, approver, operator or auditor; or of a partner manager, integrator or reader."`
	Partner string `placeholder:"ID" help:"Partner the account is for, with the roles of a partner."`
}

// Run makes the account and prints its one-time link.
func (c *UserAddCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withAccounts(ctx, streams, log, func(db *store.DB, accounts *identity.Accounts) error {
		if c.Partner != "" {
			if _, err := db.Partner(ctx, c.Partner); err != nil {
				return fmt.Errorf("partner %s: %w", c.Partner, err)
			}
		}
		if c.Role == "partner" { // what all people of a partner were before there were roles
			c.Role = store.RoleManager
		}
		in := identity.NewAccount{Email: c.Email, Name: c.Name, Role: c.Role, PartnerID: c.Partner}
		account, token, err := accounts.Invite(ctx, registry.CommandActor(), in)
		if err != nil {
			return withFields(err)
		}
		fmt.Fprintf(streams.Out, "%s made for %s\n%s\n", account.ID, account.Email, c.link(registry.LinkInvitation, token))
		return nil
	})
}

// UserResetCmd makes a link for a new password.
type UserResetCmd struct {
	LinkFlags
	Email string `arg:"" help:"E-mail address of the account."`
}

// Run prints the one-time link.
func (c *UserResetCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withAccounts(ctx, streams, log, func(_ *store.DB, accounts *identity.Accounts) error {
		purpose, token, err := accounts.LinkBy(ctx, registry.CommandActor(), c.Email)
		if err != nil {
			return fmt.Errorf("account %s: %w", c.Email, err)
		}
		fmt.Fprintln(streams.Out, c.link(purpose, token))
		return nil
	})
}

// UserResetFactorsCmd takes the second factors from an account.
type UserResetFactorsCmd struct {
	LinkFlags
	Proof string `default:"at the command line of the server" help:"How its owner proved who it is, for the audit trail."`
	Email string `arg:"" help:"E-mail address of the account."`
}

// Run takes the factors and ends the sessions.
func (c *UserResetFactorsCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withAccounts(ctx, streams, log, func(db *store.DB, accounts *identity.Accounts) error {
		account, err := db.AccountByEmail(ctx, registry.CleanEmail(c.Email))
		if err != nil {
			return fmt.Errorf("account %s: %w", c.Email, err)
		}
		if err := accounts.ResetFactors(ctx, registry.CommandActor(), account.ID, c.Proof); err != nil {
			return withFields(err)
		}
		fmt.Fprintf(streams.Out, "%s logs in with a password alone, and is asked for a second factor where the settings want one\n", account.Email)
		return nil
	})
}

// UserListCmd lists accounts.
type UserListCmd struct {
	LinkFlags
	Partner string `placeholder:"ID" help:"Partner whose accounts to list. Default: the administrators."`
}

// Run prints a line an account.
func (c *UserListCmd) Run(ctx context.Context, streams cli.Streams) error {
	db, err := openStore(ctx, c.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.Accounts(ctx, c.Partner)
	if err != nil {
		return fmt.Errorf("list accounts: %w", err)
	}
	w := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tE-MAIL\tNAME\tROLE\tSTATUS")
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.ID, a.Email, a.Name, a.Role, a.Status)
	}
	return w.Flush()
}

// withFields writes out what is wrong with each field, for the command line.
func withFields(err error) error {
	e, ok := errors.AsType[*registry.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	var all []string
	for field, text := range e.Fields {
		all = append(all, field+": "+text.String())
	}
	return errors.New(strings.Join(all, " "))
}

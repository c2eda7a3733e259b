package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// receiverService serves the receiver of the demonstration on a listener that is open.
func receiverService(listener net.Listener, handler http.Handler, log *slog.Logger, fail func(error)) Service {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return funcService{
		name: "receiver",
		start: func(context.Context) error {
			go func() {
				if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
					fail(err)
				}
			}()
			return nil
		},
		stop: func(ctx context.Context) error {
			if err := server.Shutdown(ctx); err != nil {
				return server.Close()
			}
			return nil
		},
	}
}

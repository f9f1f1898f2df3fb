package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/snowflake"
)

// The variables that make the test binary a copy of the service.
const (
	childDSN   = "URLSHORTENER_TEST_DSN"
	childCodes = "URLSHORTENER_TEST_CODES"
)

const autoIncrement = "auto-increment" // instead of a kind of codes

// child serves until its standard input ends, as it does when the test ends in whatever way.
func child() int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var err error
	if dsn, codes := os.Getenv(childDSN), os.Getenv(childCodes); codes == autoIncrement {
		err = serveAutoIncrement(ctx, dsn)
	} else {
		err = run(ctx, []string{"-addr", "127.0.0.1:0", "-dsn", dsn, "-codes", codes}, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is a copy of the service in a process of its own.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
}

func startProcess(t *testing.T, dsn, codes string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDSN+"="+dsn, childCodes+"="+codes, "URLSHORTENER_KEYS="+testKeys)
	var log strings.Builder
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("a process did not start: %s", log.String())
	}
	return &process{cmd, stdin, strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "urlshortener: ")), "/")}
}

// kill ends the process at once, as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// end lets the process finish.
func (p *process) end(t *testing.T) {
	t.Helper()
	_ = p.stdin.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("a process ended with %v", err)
	}
}

// cpu is the processor time of a process that has ended.
func (p *process) cpu() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// autoLink is a link whose key the database makes.
type autoLink struct {
	ID   int64  `gorm:"primaryKey"`
	Hash []byte `gorm:"size:32;uniqueIndex;not null"`
	URL  string `gorm:"size:4096;not null"`
}

func (autoLink) TableName() string { return "links" }

// serveAutoIncrement is the service with auto-increment keys, as far as it shortens: what the others are compared with.
func serveAutoIncrement(ctx context.Context, dsn string) error {
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true})
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(16)
	pool.SetMaxIdleConns(16)
	for range 5 { // as migrate
		if err = db.AutoMigrate(&autoLink{}); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &service{config: config{base: addressOf(listener), limit: requestTime}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/links", s.limited(func(w http.ResponseWriter, r *http.Request) error {
		given, err := readURL(r)
		if err != nil {
			return err
		}
		target, host, err := parseTarget(given)
		if err != nil {
			return err
		}
		if s.leadsHere(host, r) {
			return errors.New("it leads here")
		}
		hash := sha256.Sum256([]byte(target))
		link := &autoLink{Hash: hash[:], URL: target}
		err = db.WithContext(r.Context()).Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "hash"}},
			DoUpdates: clause.AssignmentColumns([]string{"hash"}),
		}).Create(link).Error
		if err != nil {
			return err
		}
		code := snowflake.ID(link.ID).Base62()
		return writeJSON(w, http.StatusCreated, linkJSON{Code: code, ShortURL: s.base.String() + "/" + code, URL: target, Created: true})
	}))
	server := &http.Server{Handler: s.secure(http.NewCrossOriginProtection().Handler(mux)), ReadHeaderTimeout: requestTime}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Printf("urlshortener: %s/\n", s.base)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Servers of Google's services for runs on other engines: Cloud Storage and Pub/Sub, in memory.
//
// Usage: servers objects|pubsub PORT
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"

	"cloud.google.com/go/pubsub/pstest"
	"github.com/fsouza/fake-gcs-server/fakestorage"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: servers objects|pubsub PORT")
	}
	port, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	switch os.Args[1] {
	case "objects":
		log.Fatal(serveObjects(port))
	case "pubsub":
		pstest.NewServerWithPort(port)
		select {}
	default:
		log.Fatalf("unknown service %s", os.Args[1])
	}
}

func serveObjects(port int) error {
	host := fmt.Sprintf("localhost:%d", port)
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener:  true,
		PublicHost:  host,
		ExternalURL: "http://" + host,
		Writer:      io.Discard,
	})
	if err != nil {
		return err
	}
	return http.ListenAndServe(host, withContentIDs(server.HTTPHandler()))
}

// withContentIDs numbers the parts of a batch: Google's client for Python does not, the service does not ask for
// it, and fake-gcs-server leaves out parts without a number.
func withContentIDs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if r.URL.Path == "/batch/storage/v1" && err == nil {
			r.Body = io.NopCloser(bytes.NewReader(numbered(r.Body, params["boundary"])))
		}
		next.ServeHTTP(w, r)
	})
}

func numbered(body io.Reader, boundary string) []byte {
	var out bytes.Buffer
	writer := multipart.NewWriter(&out)
	if err := writer.SetBoundary(boundary); err != nil {
		log.Fatal(err)
	}
	reader := multipart.NewReader(body, boundary)
	for number := 0; ; number++ {
		part, err := reader.NextPart()
		if err != nil {
			break
		}
		if part.Header.Get("Content-ID") == "" {
			part.Header.Set("Content-ID", fmt.Sprintf("<part+%d>", number))
		}
		copied, err := writer.CreatePart(part.Header)
		if err == nil {
			_, err = io.Copy(copied, part)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	writer.Close()
	return out.Bytes()
}

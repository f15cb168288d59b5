/*
Copyright 2026 The cluster-api-provider-container Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Sitelinks checks a built site: all that its pages link to within the site is there, with
// the fragment, and nothing is loaded from another site.
//
//	go run ./hack/sitelinks DIRECTORY BASE-URL
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sitelinks DIRECTORY BASE-URL")
		os.Exit(2)
	}
	checked, err := check(os.DirFS(os.Args[1]), os.Args[2])
	if err != nil {
		fmt.Fprintf(os.Stderr, "sitelinks: the site has dead links, or loads files of other sites:\n%v\n", err)
		os.Exit(1)
	}
	fmt.Printf("sitelinks: %d links, and none within the site is dead.\n", checked)
}

// page is what matters here of an HTML file.
type page struct {
	links []link
	ids   map[string]bool
}

type link struct {
	target string
	// The browser gets it with the page, as a script or a picture.
	loaded bool
}

// check returns the number of links.
func check(site fs.FS, baseURL string) (int, error) {
	base, err := url.Parse(strings.TrimSuffix(baseURL, "/") + "/")
	if err != nil {
		return 0, fmt.Errorf("parse the base URL: %w", err)
	}
	pages, err := read(site)
	if err != nil {
		return 0, err
	}
	checked := 0
	var problems []error
	for _, file := range slices.Sorted(maps.Keys(pages)) {
		for _, link := range pages[file].links {
			checked++
			if err := checkLink(site, pages, base, file, link); err != nil {
				problems = append(problems, fmt.Errorf("%s %w", file, err))
			}
		}
	}
	return checked, errors.Join(problems...)
}

func checkLink(site fs.FS, pages map[string]page, base *url.URL, file string, link link) error {
	target, err := base.JoinPath(file).Parse(link.target)
	// Such as the site of another version. A path alone is rather one that lacks the base.
	outside := err == nil && (target.Host != base.Host ||
		!strings.HasPrefix(target.Path, base.Path) && strings.Contains(link.target, "://"))
	switch {
	case err != nil:
		return fmt.Errorf("has a link that is no URL: %w", err)
	case outside && link.loaded:
		return fmt.Errorf("loads %s", link.target)
	case !outside && !exists(site, pages, strings.TrimPrefix(target.Path, base.Path), target.Fragment):
		return fmt.Errorf("links to %s", link.target)
	default:
		return nil
	}
}

// exists reports whether the site has the file, and the page the fragment. A path that
// is not below the base begins with a slash, and is no file.
func exists(site fs.FS, pages map[string]page, file, fragment string) bool {
	if file == "" || strings.HasSuffix(file, "/") {
		file += "index.html"
	}
	if _, err := fs.Stat(site, file); err != nil {
		return false
	}
	return fragment == "" || pages[file].ids[fragment]
}

func read(site fs.FS) (map[string]page, error) {
	pages := map[string]page{}
	err := fs.WalkDir(site, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		file, err := site.Open(name)
		if err != nil {
			return err
		}
		document, err := html.Parse(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		pages[name] = parse(document)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the site: %w", err)
	}
	if len(pages) == 0 {
		return nil, errors.New("read the site: it has no page")
	}
	return pages, nil
}

func parse(document *html.Node) page {
	found := page{ids: map[string]bool{}}
	for node := range document.Descendants() {
		followed := node.Data == "a"
		for _, attribute := range node.Attr {
			followed = followed || attribute.Key == "rel" && attribute.Val == "canonical"
		}
		for _, attribute := range node.Attr {
			switch attribute.Key {
			case "id":
				found.ids[attribute.Val] = true
			case "href", "src":
				found.links = append(found.links, link{target: attribute.Val, loaded: !followed})
			}
		}
	}
	return found
}

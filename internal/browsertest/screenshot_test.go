package browsertest

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

const maxScreenshot = 150 << 10 // bytes

// screenshot checks that there is a picture of the page for the README of an example. With -update-screenshots it writes
// the picture, from the top of the page to the end of an element. The name is relative to the folder of the examples.
func (p *page) screenshot(name, end string) {
	p.t.Helper()
	file := filepath.Join("..", "..", "examples", filepath.FromSlash(name))
	if *updateScreenshots {
		p.resize(1000, 600)
		p.resize(1000, evaluate[int64](p, "Math.ceil(document.querySelector("+quoted(end)+").getBoundingClientRect().bottom + scrollY) + 16"))
		evaluate[chromedp.Void](p, "document.activeElement.blur()")
		picture, err := compress(run(p, chromedp.CaptureScreenshot()))
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, picture, 0o644))
		}
		if err != nil {
			p.t.Fatal(err)
		}
		p.resize(1000, 800)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > maxScreenshot {
		p.t.Errorf("%s: error %v, or more than %d bytes: run this test with -update-screenshots", file, err, maxScreenshot)
	}
}

// compress returns the picture with its 256 most frequent colours.
func compress(picture []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	count := map[color.Color]int{}
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[img.At(x, y)]++
		}
	}
	var palette color.Palette
	for c := range count {
		palette = append(palette, c)
	}
	slices.SortFunc(palette, func(a, b color.Color) int { return count[b] - count[a] })
	small := image.NewPaletted(bounds, palette[:min(len(palette), 256)])
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.Set(x, y, img.At(x, y))
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&out, small)
	return out.Bytes(), err
}

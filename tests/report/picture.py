"""PNG pictures as a browser writes them (8 bits, RGB or RGBA, not interlaced): rows of pixels, with the standard library."""
import struct
import zlib


class Picture:
    def __init__(self, data):
        if data[:8] != b"\x89PNG\r\n\x1a\n":
            raise ValueError("no PNG")
        at, packed = 8, b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + length]
            if kind == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
                if depth != 8 or colour not in (2, 6) or interlaced:
                    raise ValueError("not the PNG of a browser")
                self.size = 3 if colour == 2 else 4
            elif kind == b"IDAT":
                packed += body
            at += length + 12
        self.rows = list(self._unfilter(zlib.decompress(packed)))

    def _unfilter(self, raw):
        stride, size = self.width * self.size, self.size
        before = bytearray(stride)
        for y in range(self.height):
            start = y * (stride + 1)
            kind, row = raw[start], bytearray(raw[start + 1:start + 1 + stride])
            if kind == 2:
                row = bytearray((a + b) & 255 for a, b in zip(row, before))
            elif kind:
                for i in range(stride):
                    left, above = (row[i - size] if i >= size else 0), before[i]
                    if kind == 1:
                        guess = left
                    elif kind == 3:
                        guess = (left + above) // 2
                    else:
                        corner = before[i - size] if i >= size else 0
                        estimate = left + above - corner
                        near = [(abs(estimate - c), n) for n, c in enumerate((left, above, corner))]
                        guess = (left, above, corner)[min(near)[1]]
                    row[i] = (row[i] + guess) & 255
            yield bytes(row)
            before = row

    def pixel(self, x, y):
        return tuple(self.rows[y][x * self.size:x * self.size + 3])

    def colours(self, left=0, top=0, right=None, bottom=None):
        """Every colour in an area, and how many pixels have it."""
        counts = {}
        for row in self.rows[top:bottom]:
            part = row[left * self.size:None if right is None else right * self.size]
            for i in range(0, len(part), self.size):
                colour = part[i:i + 3]
                counts[colour] = counts.get(colour, 0) + 1
        return counts

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "@uncaged/workflow";
import { file, image, noteOf, type Part, readPart } from "./part.ts";

const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");
const png = bytesOf("\x89PNG\r\n\x1a\n....");
const pdf = bytesOf("%PDF-1.7 ....");

let cwd = "";
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "uncaged-part-"));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const refusal = async (make: () => Part | Promise<Part>): Promise<string> => {
  try {
    await make();
    return "not refused";
  } catch (error) {
    return isWorkflowError(error) ? `${error.code}: ${error.message}` : String(error);
  }
};

describe("a picture or a document", () => {
  const kinds: [string, Buffer, string, string][] = [
    ["png", png, "image", "image/png"],
    ["jpeg", bytesOf("\xff\xd8\xff\xe0...."), "image", "image/jpeg"],
    ["gif", bytesOf("GIF89a...."), "image", "image/gif"],
    ["webp", bytesOf("RIFF....WEBPVP8 "), "image", "image/webp"],
    ["pdf", pdf, "document", "application/pdf"],
    ["text", Buffer.from("ä text"), "document", "text/plain"],
  ];
  test.each(kinds)(
    "is detected as %s by its bytes, whatever its name is",
    async (_, bytes, type, mediaType) => {
      writeFileSync(join(cwd, "a.bin"), bytes);
      for (const part of [file(bytes), await readPart(file("a.bin"), cwd)]) {
        expect(part).toMatchObject({ type, source: { media_type: mediaType } });
      }
    },
  );

  test("is read from bytes, a path, a URL or a data URL", async () => {
    writeFileSync(join(cwd, "shot.png"), png);
    const source = { type: "base64", media_type: "image/png", data: png.toString("base64") };
    expect(image(new Uint8Array(png))).toMatchObject({ source });
    expect(image(`data:image/png;base64,${source.data}`)).toMatchObject({ source });
    for (const path of ["shot.png", join(cwd, "shot.png"), `file://${join(cwd, "shot.png")}`]) {
      expect(await readPart(image(path), cwd)).toMatchObject({ source });
    }
    const url = "https://example.com/a.png";
    for (const at of [url, new URL(url)])
      expect(image(at)).toMatchObject({ source: { type: "url", url } });
    expect(await readPart(file("shot.png", { name: "x" }), cwd)).not.toHaveProperty("title");
  });

  test("is refused with a one-line error when it has another type, is empty, too large or missing", async () => {
    const declared = await refusal(() =>
      image(bytesOf("\xff\xd8\xff"), { mediaType: "image/png" }),
    );
    expect(declared).toBe(
      "BAD_FILE: a picture has the mediaType image/png, but its bytes are image/jpeg",
    );
    expect(await refusal(() => image(pdf, { name: "a.png" }))).toBe(
      "BAD_FILE: the bytes of a.png are not a PNG, JPEG, GIF or WebP",
    );
    expect(await refusal(() => file(bytesOf("\x00\x01")))).toContain(
      "are not a PDF, picture or text",
    );
    expect(await refusal(() => file(new Uint8Array()))).toBe("BAD_FILE: a document is empty");
    writeFileSync(join(cwd, "large.png"), png);
    truncateSync(join(cwd, "large.png"), 5_000_001);
    expect(await refusal(() => readPart(image("large.png"), cwd))).toBe(
      "BAD_FILE: large.png has 5 MB, but models take at most 5 MB",
    );
    expect(await refusal(() => readPart(image("none.png"), cwd))).toStartWith(
      "BAD_FILE: none.png can't be read: ENOENT",
    );
    expect(await refusal(() => readPart(image("."), cwd))).toStartWith("BAD_FILE: . ");
  });

  test("is replaced by a note in text", () => {
    expect(noteOf(image(png))).toBe("[image image/png, 12 bytes]");
    expect(noteOf(file(pdf, { name: "a.pdf" }))).toBe("[a.pdf application/pdf, 13 bytes]");
    expect(noteOf(file(Buffer.from("text"), { name: "a.txt" }))).toBe("[a.txt, 4 characters]");
  });
});

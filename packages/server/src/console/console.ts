import { existsSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAccept } from "hono/utils/accept";
import { consoleFailed } from "./errors.ts";

const compressible = /\.(html|js|css|svg|json|map|txt|webmanifest)$/;

type Asset = {
  plain: Uint8Array<ArrayBuffer>;
  /** The compressed forms of the file by content coding, the smallest first. */
  packed: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  type: string;
  /** The content security policy of a page, which allows the inline styles of that page. */
  policy: string | null;
};

/** Returns the folder of the built console: in this repository, or next to the packed program. */
function consoleFolder(): string {
  const path = import.meta.url.endsWith(".ts") ? "../../../../apps/web/dist" : "./console";
  return fileURLToPath(new URL(path, import.meta.url));
}

/**
 * Returns the console's file at a path. Returns the page for any other path, because the page has its own routes, and
 * null for a missing asset.
 */
export type ConsoleFiles = (path: string, headers: Headers) => Response | null;

/**
 * Serves the built console from memory. Serves only files from a list, so request paths never reach the disk. Reads
 * each file at its first request. `policyFor` returns the content security policy of a page with these inline styles.
 */
export function consoleFiles(policyFor: (styles: readonly string[]) => string): ConsoleFiles {
  const paths = filesOf(consoleFolder());
  const assets = new Map<string, Asset>();
  const assetOf = (name: string): Asset | null => {
    const known = assets.get(name);
    const path = paths.get(name);
    if (known || path === undefined) return known ?? null;
    const plain = new Uint8Array(readFileSync(path));
    const packed = new Map<string, Uint8Array<ArrayBuffer>>();
    // The build compresses the large files of the first view.
    const brotli = paths.get(`${name}.br`);
    if (brotli !== undefined) packed.set("br", new Uint8Array(readFileSync(brotli)));
    if (compressible.test(name)) packed.set("gzip", Bun.gzipSync(plain));
    const policy = name.endsWith(".html")
      ? policyFor(stylesIn(new TextDecoder().decode(plain)))
      : null;
    const asset = { plain, packed, type: Bun.file(path).type, policy };
    assets.set(name, asset);
    return asset;
  };
  return (path, requested) => {
    const isPart = path.startsWith("/assets/");
    if (isPart && !paths.has(path)) return null;
    const found = paths.has(path) ? path : "/index.html";
    const asset = assetOf(found);
    if (!asset) return notBuilt();
    // The name of an asset contains its hash, so it never changes.
    const headers = new Headers({
      "Content-Type": asset.type,
      "Cache-Control": isPart ? "private, max-age=31536000, immutable" : "no-cache",
      Vary: "Accept-Encoding",
    });
    if (asset.policy !== null) headers.set("Content-Security-Policy", asset.policy);
    const coding = [...asset.packed.keys()].find(acceptedIn(requested));
    const packed = coding === undefined ? undefined : asset.packed.get(coding);
    if (coding === undefined || !packed) return new Response(asset.plain, { headers });
    headers.set("Content-Encoding", coding);
    return new Response(packed, { headers });
  };
}

/** Returns a function that tells whether a request accepts a content coding. */
function acceptedIn(headers: Headers): (coding: string) => boolean {
  const accepted = parseAccept(headers.get("accept-encoding") ?? "");
  const of = (name: string) => accepted.find(({ type }) => type.toLowerCase() === name);
  return (coding) => ((of(coding) ?? of("*"))?.q ?? 0) > 0;
}

const stylesIn = (html: string): string[] =>
  [...html.matchAll(/<style[^>]*>([^]*?)<\/style>/g)].map(([, style = ""]) => style);

function filesOf(folder: string): ReadonlyMap<string, string> {
  const names = existsSync(folder) ? new Bun.Glob("**/*").scanSync({ cwd: folder, dot: true }) : [];
  return new Map(
    [...names].map((name) => [`/${name.replaceAll(sep, "/")}`, join(folder, name)] as const),
  );
}

/**
 * Builds the console in a checkout that has no built console. Calls `onBuild` before the build.
 * @throws WorkflowError `CONSOLE_FAILED` with the last line of the build's output.
 */
export async function buildConsole(onBuild: () => void): Promise<void> {
  const folder = consoleFolder();
  const sources = dirname(folder);
  if (existsSync(join(folder, "index.html")) || !existsSync(join(sources, "vite.config.ts")))
    return;
  onBuild();
  const build = Bun.spawn([process.execPath, "--bun", "run", "build"], {
    cwd: sources,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1" },
  });
  const [printed, complained, code] = await Promise.all([
    new Response(build.stdout).text(),
    new Response(build.stderr).text(),
    build.exited,
  ]);
  if (code === 0) return;
  const last = `${printed}\n${complained}`.trim().split("\n").at(-1) ?? "";
  throw consoleFailed(last.slice(0, 300), sources);
}

/** Tells whether a path belongs to the console, not to the API, to runs or to MCP. */
export const isPagePath = (path: string): boolean => !/^\/(api|workflow|mcp)(\/|$)/.test(path);

export const wantsPage = ({ headers, method, url }: Request): boolean =>
  method === "GET" &&
  (headers.get("accept") ?? "").includes("text/html") &&
  isPagePath(URL.parse(url)?.pathname ?? "/");

const notBuilt = (): Response =>
  plainPage(200, [
    "The server runs. The console is not built here, so there is no page to show.",
    'The API is: <a href="/api/openapi.json">/api/openapi.json</a>',
  ]);

/** Returns a page that explains a refusal to a browser's user. */
export function refusalPage({ headers }: Request, status: number, refusal: Refusal): Response {
  const { code, message, hint } = refusal;
  const isVisit =
    headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  // A browser that follows a link on another site does not send the cookie. A reload of this page sends it.
  if (code === "FOREIGN_ORIGIN" && isVisit) return plainPage(200, ["One moment…"], again);
  if (status !== 401) return plainPage(status, [message, hint ?? ""].map(sentence));
  return plainPage(status, [
    code === "TOKEN_EXPIRED"
      ? sentence(`${message}.`)
      : "This server requires a token, and this browser has no valid token.",
    "Open the address that <code>uncaged-workflow serve</code> printed in its terminal.",
    "With a token of your own, add <code>/?token=</code> and the token to the address of this server.",
  ]);
}

type Refusal = { code: string; message: string; hint: string | null };

const again = '<meta http-equiv="refresh" content="0">';

const sentence = (text: string): string =>
  Bun.escapeHTML(text.slice(0, 1).toUpperCase() + text.slice(1));

function plainPage(status: number, paragraphs: string[], head = ""): Response {
  const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    ${head}
    <title>uncaged-workflow</title>
  </head>
  <body>
    <h1>uncaged-workflow</h1>
    ${paragraphs.map((text) => `<p>${text}</p>`).join("\n    ")}
  </body>
</html>
`;
  return new Response(page, { status, headers: { "Content-Type": "text/html; charset=utf-8" } });
}

import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { top } from "./source.ts";

/*
 * An npm registry on this machine. It serves the installed packages of this checkout and given tarballs, without a
 * network.
 */
type Manifest = { name: string; version: string; [field: string]: unknown };
type Entry = { manifest: Manifest; tarball: () => string };

const store = join(top, "node_modules/.bun");

const manifestIn = (text: string): Manifest => JSON.parse(text) as Manifest;

/** Runs tar and returns its output. */
function tar(args: string[], cwd?: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["tar", ...args], { cwd });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString();
}

/** Serves packages over the registry's HTTP interface, until `stop`. */
export class LocalRegistry {
  readonly #folder: string;
  readonly #given = new Map<string, Entry[]>();
  readonly #made = new Map<string, string>();
  readonly #server: Bun.Server<undefined>;

  /** @param folder The folder for the tarballs. */
  constructor(folder: string, tarballs: readonly string[] = []) {
    mkdirSync(folder, { recursive: true });
    this.#folder = folder;
    for (const path of tarballs) {
      const manifest = manifestIn(tar(["-xzOf", path, "package/package.json"]));
      this.#given.set(manifest.name, [{ manifest, tarball: () => path }]);
    }
    const { version } = this.#manifestOf("bun-types");
    const typesOfBun = { name: "@types/bun", version, dependencies: { "bun-types": version } };
    const reference = '/// <reference types="bun-types" />\n';
    this.#add(typesOfBun, (own) => writeFileSync(join(own, "index.d.ts"), reference));
    this.#add({ ...this.#manifestOf("@types/node"), version: "24.0.0" });
    // The checkout has the binary in its final place, so omit the install script.
    const bun = { ...this.#manifestOf("bun"), bin: { bun: "bin/bun.exe" } };
    this.#add({ ...bun, scripts: {}, optionalDependencies: {} }, (own) => {
      mkdirSync(join(own, "bin"));
      symlinkSync(join(this.#foldersOf("bun")[0] ?? "", "bin/bun.exe"), join(own, "bin/bun.exe"));
    });
    this.#server = Bun.serve({ port: 0, fetch: (request) => this.#answer(request) });
  }

  get url(): string {
    return `http://localhost:${this.#server.port}/`;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  #foldersOf(name: string): string[] {
    const prefix = `${name.replace("/", "+")}@`;
    const entries = readdirSync(store).filter((entry) => entry.startsWith(prefix));
    return entries.map((entry) => join(store, entry, "node_modules", name));
  }

  #manifestOf(name: string): Manifest {
    return manifestIn(readFileSync(join(this.#foldersOf(name)[0] ?? "", "package.json"), "utf8"));
  }

  /** Adds a package of this checkout with a modified manifest. `write` creates its files instead of a copy. */
  #add(manifest: Manifest, write?: (folder: string) => void): void {
    const folder = join(this.#folder, manifest.name);
    mkdirSync(folder, { recursive: true });
    if (write) write(folder);
    else cpSync(this.#foldersOf(manifest.name)[0] ?? "", folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    this.#given.set(manifest.name, [{ manifest, tarball: () => this.#pack(folder) }]);
  }

  #entriesOf(name: string): Entry[] {
    const installed = this.#foldersOf(name).map((folder) => ({
      manifest: manifestIn(readFileSync(join(folder, "package.json"), "utf8")),
      tarball: () => this.#pack(folder),
    }));
    return this.#given.get(name) ?? installed;
  }

  #pack(folder: string): string {
    const known = this.#made.get(folder);
    if (known !== undefined) return known;
    const work = join(this.#folder, `${this.#made.size}`);
    mkdirSync(work);
    symlinkSync(folder, join(work, "package"));
    tar(["-chf", `${work}.tar`, "package"], work);
    this.#made.set(folder, `${work}.tar`);
    return `${work}.tar`;
  }

  #answer(request: Request): Response {
    const { pathname } = new URL(request.url);
    const [, name = "", version] =
      /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.*)\.tgz)?$/.exec(decodeURIComponent(pathname)) ?? [];
    const entries = this.#entriesOf(name);
    if (version !== undefined) {
      const entry = entries.find(({ manifest }) => manifest.version === version);
      if (entry) return new Response(Bun.file(entry.tarball()));
    }
    if (entries.length === 0) return Response.json({ error: "not found" }, { status: 404 });
    const versions = entries
      .map(({ manifest }) => manifest.version)
      .toSorted((a, b) => Bun.semver.order(a, b));
    return Response.json({
      name,
      "dist-tags": { latest: versions.at(-1) },
      versions: Object.fromEntries(
        entries.map(({ manifest }) => [
          manifest.version,
          { ...manifest, dist: { tarball: `${this.url}${name}/-/${manifest.version}.tgz` } },
        ]),
      ),
    });
  }
}

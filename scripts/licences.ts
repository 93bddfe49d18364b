import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const top = fileURLToPath(new URL("..", import.meta.url));

export type Licence = { name: string; version: string; text: string };

type Manifest = { name: string; version: string; license?: unknown; author?: unknown };

/** Returns the licences of the third-party packages among a build's inputs. */
export function licencesOf(inputs: string[]): Licence[] {
  const folders = inputs.flatMap((input) => {
    const path = resolve(top, input);
    const at = path.lastIndexOf("/node_modules/");
    if (at < 0) return [];
    const [scope = "", name = ""] = path.slice(at + "/node_modules/".length).split("/");
    return [
      join(path.slice(0, at), "node_modules", scope.startsWith("@") ? `${scope}/${name}` : scope),
    ];
  });
  return [...new Set(folders)].map((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
    const { name, version } = manifest;
    return { name, version, text: licence(folder, manifest) };
  });
}

/** Returns a package's licence: its licence file, a section of its README, or the name in its manifest. */
function licence(folder: string, { license, author }: Manifest): string {
  const names = readdirSync(folder);
  const own = names.find((name) => /^(licen[cs]e|copying)/i.test(name));
  if (own) return readFileSync(join(folder, own), "utf8").trim();
  const readme = names.find((name) => /^readme/i.test(name));
  const text = readme ? readFileSync(join(folder, readme), "utf8") : "";
  const [section] = /^#+ *licen[cs]e[\s\S]*/im.exec(text) ?? [];
  if (section) return section.trim();
  if (typeof license !== "string") throw new Error(`${folder}: missing licence`);
  return `${license} (from package.json)${typeof author === "string" ? `; by ${author}` : ""}`;
}

/** File in which the console's build lists its packages. */
export const consoleLicencesFile = "licenses.json";

/** Returns the licences of the packages inside a built console. */
export function licencesOfConsole(dist: string): Licence[] {
  type Named = Omit<Licence, "text"> & { text?: string; identifier?: string };
  const named = JSON.parse(readFileSync(join(dist, consoleLicencesFile), "utf8")) as Named[];
  return named.map(({ name, version, identifier, text = identifier }) => {
    if (text === undefined) throw new Error(`${name}: missing licence`);
    return { name, version, text };
  });
}

/** Formats licences as one text with each package once. */
export function notices(licences: Licence[]): string {
  const byPackage = new Map(
    licences.map(({ name, version, text }) => [`${name} ${version}`, text]),
  );
  return [...byPackage]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([name, text]) => `${name}\n\n${text}\n`)
    .join(`\n${"-".repeat(80)}\n\n`);
}

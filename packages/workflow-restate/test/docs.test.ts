import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findServer } from "../src/entry/cluster.ts";

const top = join(import.meta.dir, "../../..");

/* The configuration samples of docs/guides/deploy-cluster.md are valid for their programs. */
const guide = readFileSync(join(top, "docs/guides/deploy-cluster.md"), "utf8");

/** Returns the code blocks of a language, without their indentation. */
const blocks = (language: string): string[] =>
  [...guide.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)\\n *\`\`\``, "gm"))].map(
    ([, indent = "", text = ""]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );

const folder = mkdtempSync(join(tmpdir(), "uw-cluster-docs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the keys of the first table that the second lacks or has with another value. */
function missing(wanted: Record<string, unknown>, found: Record<string, unknown>): string[] {
  return Object.entries(wanted).flatMap(([key, value]) => {
    const other = found[key];
    if (isObject(value)) {
      const below = isObject(other) ? missing(value, other) : ["it all"];
      return below.map((each) => `${key}.${each}`);
    }
    return JSON.stringify(value) === JSON.stringify(other) ? [] : [key];
  });
}

const server = findServer(join(top, "packages/workflow-restate"), {});

test.skipIf(server === null)("the server accepts each key of its configuration", () => {
  const [text = ""] = blocks("toml");
  const file = join(folder, "restate.toml");
  writeFileSync(file, text);
  const words = [server ?? "", "--config-file", file, "--dump-config"];
  const { stdout } = Bun.spawnSync(words, { env: { DO_NOT_TRACK: "1" }, cwd: folder });
  const wanted = Bun.TOML.parse(text) as Record<string, unknown>;
  expect(Object.keys(wanted).length).toBeGreaterThan(10);
  // The server omits defaults from its dump.
  const dumped = Bun.TOML.parse(stdout.toString()) as Record<string, unknown>;
  expect(missing(wanted, dumped)).toEqual([]);
});

describe("the guide uses only existing options of a worker", () => {
  const help = Bun.spawnSync(
    [process.execPath, join(top, "packages/cli-workflow/src/main.ts"), "worker", "--help"],
    { env: { HOME: folder } },
  ).stdout.toString();
  const known = (options: string[]): string[] => options.filter((option) => !help.includes(option));

  test("in the unit", () => {
    const unit = blocks("ini").find((text) => text.includes("uncaged-workflow worker")) ?? "";
    const [line = ""] = unit.match(/^ExecStart=.*$/m) ?? [];
    const options = line.match(/--[a-z-]+/g) ?? [];
    expect(options.length).toBeGreaterThan(4);
    expect(known(options)).toEqual([]);
  });

  test("in the Kubernetes manifest, whose labels and ports match", () => {
    const [text = ""] = blocks("yaml");
    const [deployment, service] = text.split("\n---\n").map((one) => Bun.YAML.parse(one)) as [
      {
        spec: {
          selector: { matchLabels: object };
          template: {
            metadata: { labels: object };
            spec: {
              containers: { args: string[]; ports: { name: string; containerPort: number }[] }[];
            };
          };
        };
      },
      { metadata: { name: string }; spec: { selector: object; ports: { port: number }[] } },
    ];
    const { template, selector } = deployment.spec;
    expect(selector.matchLabels).toEqual(template.metadata.labels);
    expect(service.spec.selector).toEqual(template.metadata.labels);
    const { args = [], ports = [] } = template.spec.containers[0] ?? {};
    expect(known(args.filter((word) => word.startsWith("--")))).toEqual([]);
    const valueOf = (option: string) => args[args.indexOf(option) + 1];
    expect(ports.map(({ containerPort }) => `${containerPort}`)).toEqual([
      valueOf("--port") ?? "",
      valueOf("--health-port") ?? "",
    ]);
    const [{ port } = { port: 0 }] = service.spec.ports;
    expect(valueOf("--uri")).toBe(`http://${service.metadata.name}:${port}`);
  });
});

const analyze = Bun.which("systemd-analyze");

test.skipIf(analyze === null)("systemd accepts the units", () => {
  for (const [index, text] of blocks("ini").entries()) {
    const file = join(folder, `unit-${index}@.service`);
    // The started programs are not installed on this machine.
    writeFileSync(file, text.replace(/^ExecStart=\S+/m, "ExecStart=/bin/true"));
    const { stderr } = Bun.spawnSync([analyze ?? "", "verify", file]);
    const own = stderr
      .toString()
      .split("\n")
      .filter((line) => line.includes(file));
    expect(own).toEqual([]);
  }
});

import { isIP } from "node:net";
import { z } from "zod";

const text = z.string().min(1, "must not be empty");
const flag = z.boolean("must be true or false");
const list = z.array(z.union([text, z.int().transform(String)]), "must be a list of texts");
const whole = (least: number, most: number) => {
  const message = `must be a whole number from ${least} to ${most}`;
  return z.number(message).int(message).min(least, message).max(most, message);
};
const longestMs = 2 ** 31 - 1;

const hostName =
  /^(?=.{1,253}:)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?:/i;

/** Tells whether a text is `host:port`: a name, an IPv4 address, or an IPv6 address in brackets. */
function isAddress(address: string): boolean {
  const [, bracketed, port = ""] = /^(?:\[([^\]]*)\]|[^:[\]]*):([0-9]{1,5})$/.exec(address) ?? [];
  const isPort = Number(port) >= 1 && Number(port) <= 65_535;
  if (bracketed !== undefined) return isPort && isIP(bracketed) === 6;
  const [host = ""] = address.split(":", 1);
  // A name with only digits and dots would be read as an address.
  return isPort && hostName.test(address) && (isIP(host) === 4 || !/^[\d.]+$/.test(host));
}

const addresses = z.array(
  z.string("must be a list of host:port").refine(isAddress, {
    error: ({ input }) =>
      `has ${JSON.stringify(input)}, which is not host:port with a name or address (IPv6 in brackets) and a port from 1 to 65535`,
  }),
  "must be a list of host:port",
);

/** All settings of a plan home, with their defaults. */
export const form = z.object({
  agent: z.object({
    command: text
      .default("claude")
      .describe("command that runs the steps; it must accept Claude Code's arguments"),
    model: text.optional().describe("the model of the agent"),
    tools: list.optional().describe("the tools that the agent may use without asking"),
    network: flag
      .default(true)
      .describe("whether the agent needs a network; then sandbox.network can't be none"),
  }),
  planner: z.object({
    model: text.optional().describe("the model that makes plans"),
  }),
  max_parallel_steps: whole(1, 200)
    .default(4)
    .describe("the maximum number of concurrent steps of a run"),
  max_runs: whole(1, 1000)
    .default(5)
    .describe("the maximum number of concurrent runs of the storage root"),
  answer_timeout_ms: whole(1, longestMs)
    .optional()
    .describe(
      "time after which a question about a failed step is answered with abort, in ms (default: never)",
    ),
  sandbox: z.object({
    mode: z
      .enum(
        ["off", "bubblewrap", "container", "auto"],
        "must be off, bubblewrap, container or auto",
      )
      .default("auto")
      .describe("sandbox of the steps"),
    required: flag.default(false).describe("whether a step fails if no sandbox is available"),
    network: z
      .enum(["on", "none"], "must be on or none")
      .default("on")
      .describe("the network of the sandbox"),
    networkAllow: addresses
      .default([])
      .meta({ key: "sandbox.network.allow" })
      .describe("loopback and private addresses that steps may reach, such as localhost:5432"),
  }),
  container: z.object({
    engine: z
      .enum(["docker", "podman"], "must be docker or podman")
      .optional()
      .describe("docker or podman (default: the installed one)"),
    image: text.optional().describe("the image of containers"),
    timeout: whole(1, longestMs).default(1_800_000).describe("the time limit of a step, in ms"),
  }),
  telegram: z.object({
    enabled: flag
      .default(true)
      .describe("whether the service answers in Telegram if a token is set"),
    token: text.optional().describe("the bot's token"),
    allowed_users: list
      .default([])
      .describe("ids of the users who may write to the bot (default: none)"),
    api_root: text.default("https://api.telegram.org").describe("the address of the Bot API"),
  }),
  whatsapp: z.object({
    enabled: flag.default(false).describe("whether the service answers in WhatsApp"),
    auth_dir: text
      .optional()
      .describe("the folder with the credentials (default: whatsapp in the plan home)"),
    phone: z
      .string()
      .regex(/^\d{6,15}$/, "must be a telephone number in digits, with the country code")
      .optional()
      .describe("the number of the telephone to link to, in digits with the country code"),
    allowed_jids: list
      .default([])
      .describe("ids of the users who may write to the account (default: none)"),
  }),
});

/** The effective settings. */
export type CueclawConfig = z.output<typeof form>;

/** A project file's right to change a user's setting: none, freely, or only tighter. */
type ProjectRight = "never" | "freely" | "lower" | { ranks: ReadonlyMap<unknown, number> };

/** A setting: its key, such as `agent.command`, its path in the form, and its type. */
export type Setting = {
  key: string;
  path: readonly string[];
  about: string;
  kind: "text" | "number" | "flag" | "list";
};

/** The rights of a project's file by key; none for other settings. */
const projectRights: ReadonlyMap<string, ProjectRight> = new Map<string, ProjectRight>([
  ["agent.model", "freely"],
  ["planner.model", "freely"],
  ["max_parallel_steps", "lower"],
  ["max_runs", "lower"],
  ["answer_timeout_ms", "lower"],
  ["container.timeout", "lower"],
  ["sandbox.mode", stricter(["off"], ["auto"], ["bubblewrap", "container"])],
  ["sandbox.required", stricter([false], [true])],
  ["sandbox.network", stricter(["on"], ["none"])],
]);

function stricter(...groups: unknown[][]): ProjectRight {
  return { ranks: new Map(groups.flatMap((group, rank) => group.map((value) => [value, rank]))) };
}

/** Tells whether a project's file cannot change a setting. */
export const isUsersAlone = ({ key }: Setting): boolean => !projectRights.has(key);

/** Tells whether a project's file may set a value over the user's own value `own` (undefined: not set). */
export function mayTighten({ key }: Setting, own: unknown, value: unknown): boolean {
  const right = projectRights.get(key) ?? "never";
  if (right === "freely" || JSON.stringify(own) === JSON.stringify(value)) return true;
  if (right === "never") return false;
  if (right === "lower") return Number(value) <= Number(own ?? Infinity);
  const { ranks } = right;
  return (ranks.get(value) ?? -1) > (ranks.get(own) ?? Infinity);
}

/** All settings in their order. */
export const settings: readonly Setting[] = settingsIn(form, []);

function settingsIn(object: z.ZodObject, before: readonly string[]): Setting[] {
  return Object.entries(object.shape).flatMap(([name, type]) => {
    const path = [...before, name];
    if (type instanceof z.ZodObject) return settingsIn(type, path);
    const { description = "", key = path.join(".") } = (type as z.ZodType).meta() ?? {};
    return [{ key: String(key), path, about: description, kind: kindOf(type as z.ZodType) }];
  });
}

function kindOf(type: z.ZodType): Setting["kind"] {
  if (type instanceof z.ZodOptional || type instanceof z.ZodDefault) {
    return kindOf(type.unwrap() as z.ZodType);
  }
  if (type instanceof z.ZodNumber) return "number";
  if (type instanceof z.ZodBoolean) return "flag";
  return type instanceof z.ZodArray ? "list" : "text";
}

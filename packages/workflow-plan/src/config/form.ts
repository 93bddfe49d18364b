import { z } from "zod";

const text = z.string().min(1, "must not be empty");
const flag = z.boolean("must be true or false");
const list = z.array(z.union([text, z.int().transform(String)]), "must be a list of texts");
const whole = (least: number, most: number) => {
  const message = `must be a whole number from ${least} to ${most}`;
  return z.number(message).int(message).min(least, message).max(most, message);
};
const longestMs = 2 ** 31 - 1;

/** The settings of a plan home: all that there are, with what holds when nobody has set them. */
export const form = z.object({
  agent: z.object({
    command: text
      .default("claude")
      .describe("what carries out steps; it takes Claude Code's arguments"),
    model: text.optional().describe("the model of that command"),
    tools: list.optional().describe("the tools that it may use without asking"),
    network: flag
      .default(true)
      .describe(
        "whether it needs a network; only one that needs none runs with sandbox.network none",
      ),
  }),
  planner: z.object({
    model: text.optional().describe("the model that makes plans"),
  }),
  max_parallel_steps: whole(1, 200).default(4).describe("the most steps of one run at once"),
  max_runs: whole(1, 1000).default(5).describe("the most runs of the storage root at once"),
  answer_timeout_ms: whole(1, longestMs)
    .optional()
    .describe(
      "after how long a question about a failed step is answered with abort; never without it",
    ),
  sandbox: z.object({
    mode: z
      .enum(
        ["off", "bubblewrap", "container", "auto"],
        "must be off, bubblewrap, container or auto",
      )
      .default("auto")
      .describe("what steps run in"),
    required: flag.default(false).describe("whether a step fails when there is no sandbox"),
    network: z.enum(["on", "none"], "must be on or none").default("on").describe("its network"),
  }),
  container: z.object({
    engine: z
      .enum(["docker", "podman"], "must be docker or podman")
      .optional()
      .describe("docker or podman; else the one that is found"),
    image: text.optional().describe("the image of containers"),
    timeout: whole(1, longestMs).default(1_800_000).describe("how long a step may take, in ms"),
  }),
  telegram: z.object({
    enabled: flag
      .default(true)
      .describe("whether the service answers there, when there is a token"),
    token: text.optional().describe("the bot's token"),
    allowed_users: list.default([]).describe("the ids of who may write to it; nobody without them"),
    api_root: text.default("https://api.telegram.org").describe("the address of the Bot API"),
  }),
  whatsapp: z.object({
    enabled: flag.default(false).describe("whether the service answers there"),
    auth_dir: text.optional().describe("where its sign-in is kept; whatsapp in the plan home"),
    phone: z
      .string()
      .regex(/^\d{6,15}$/, "must be a telephone's number in digits, with its country's")
      .optional()
      .describe("the number of the telephone to link to, digits alone"),
    allowed_jids: list.default([]).describe("the ids of who may write to it; nobody without them"),
  }),
});

/** The settings as they hold. */
export type CueclawConfig = z.output<typeof form>;

/** A setting: its key as `agent.command`, and what it takes. */
export type Setting = { key: string; about: string; kind: "text" | "number" | "flag" | "list" };

/** All settings, in their order. */
export const settings: readonly Setting[] = settingsIn(form, "");

function settingsIn(object: z.ZodObject, before: string): Setting[] {
  return Object.entries(object.shape).flatMap(([name, type]) => {
    const key = `${before}${name}`;
    if (type instanceof z.ZodObject) return settingsIn(type, `${key}.`);
    return [{ key, about: (type as z.ZodType).description ?? "", kind: kindOf(type as z.ZodType) }];
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

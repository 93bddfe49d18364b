import type { JsonSchema } from "@uncaged/workflow";
import type { WorkflowView } from "@uncaged/workflow/host";
import { isRecord } from "@uncaged/workflow/internal";
import { withName } from "../arguments/names.ts";
import { pairs } from "../output/table.ts";
import { ago, count, isoTime, oneLine, padded, plain } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export default defineCommand({
  declare: (command) => command.argument("<name>", "the workflow"),
  examples: [
    "uncaged-workflow show review",
    "uncaged-workflow show review --json | jq .descriptor.roles",
  ],
  async run(session, _options, name: string) {
    const view = await withName(session, name, () => session.host.workflow(name));
    const params = await paramsOf(view.descriptor);
    session.show(view, () => text(session, view, params));
  },
});

async function paramsOf(descriptor: WorkflowView["descriptor"]): Promise<readonly string[]> {
  if (descriptor === null) return [];
  if (!("stepWorkflow" in descriptor)) return fieldsOf(descriptor.input);
  const { documentsIn } = await import("@uncaged/workflow-steps/threads");
  return documentsIn(descriptor)?.document?.registry.params ?? [];
}

/** Returns the fields of the schema of params as `name: type (required)`. Returns a schema without fields as JSON. */
function fieldsOf(schema: JsonSchema | undefined): string[] {
  if (schema === undefined || schema === true) return [];
  const { properties, required } = Object(schema) as { properties?: unknown; required?: unknown };
  if (!isRecord(properties)) return [JSON.stringify(schema)];
  return Object.entries(properties).map(([name, field]) => {
    const isRequired = Array.isArray(required) && required.includes(name);
    return `${name}: ${typeText(field)}${isRequired ? " (required)" : ""}`;
  });
}

function typeText(schema: unknown): string {
  const { type, enum: values } = Object(schema) as { type?: unknown; enum?: unknown };
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : "any";
}

function text({ paint }: Session, view: WorkflowView, params: readonly string[]): string {
  const { name, hash, timestamp, history, descriptor } = view;
  const entries: [string, string][] = [
    ["workflow", paint("bold", name)],
    ["hash", hash],
    ["added", `${isoTime(timestamp)} (${ago(timestamp, Date.now())})`],
    ["versions", `${history.length + 1}`],
    ["about", descriptor ? plain(descriptor.description) : "the descriptor can't be read"],
  ];
  if (params.length > 0) entries.push(["params", params.map(oneLine).join(", ")]);
  const head = pairs(entries, paint);
  const roles = Object.entries(descriptor?.roles ?? {});
  if (roles.length === 0) return head;
  const width = Math.max(...roles.map(([role]) => Bun.stringWidth(oneLine(role))));
  const lines = roles.map(
    ([role, { description }]) =>
      `  ${paint("cyan", padded(oneLine(role), width))}  ${oneLine(description)}\n`,
  );
  return `${head}\n${count(roles.length, "role")}\n${lines.join("")}`;
}

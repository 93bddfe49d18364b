import type { ChannelContext, Workflow } from "../plan/plan.ts";

/** Returns the system prompt of the planner's model. `credentials` are names, never values. */
export function systemPrompt(context: ChannelContext, credentials: readonly string[]): string {
  return [intro, rules, whereText(context), credentialText(credentials)].join("\n\n");
}

const intro =
  "You turn a user's request into a plan: a graph of steps, each carried out by a coding agent in a shell, started by hand, on a schedule or by the findings of a check script. Ask with ask_question when something that matters is not clear, one question at a time. When the request is clear, call create_workflow. Nothing runs before the user has confirmed the plan.";

const rules = `Rules of a plan:
- agent is always "claude".
- Step ids are kebab-case (fetch-issues), keys of inputs snake_case (issue_list).
- Write each step's description in detail: the agent sees this step alone, not the request and not the other steps.
- A step gets the output of another one by "$steps.<id>.output" in a text of its inputs, and must have that id in depends_on. "$trigger_data" is the data of the trigger that started the run. There is no access to parts of an output.
- The output of a step is plain text: its agent's last message. Describe its required content in expected_output.
- Steps that do not need each other do not depend on each other: they run at the same time.
- The trigger is poll (check_script, any shell; interval_seconds; diff_mode new_items or any_change), cron (an expression of five fields, and timezone, an IANA name) or manual.
- Name in a step's description each credential that it needs, by the name of its variable.
- Give name, description, trigger, steps and failure_policy, and nothing else: no id of the plan, no phase, no position.
- When the user gives a credential, store it with set_secret at once. Never repeat its value.`;

function whereText({ channel, chatJid, sender }: ChannelContext): string {
  if (channel === "tui") {
    return "The user is at a terminal. When the plan has to notify a person, ask for an explicit recipient.";
  }
  return `The user writes in ${channel}, chat ${chatJid ?? "unknown"}, as ${sender ?? "unknown"}. A plan that has to notify the user uses this chat: do not ask for a recipient.`;
}

const credentialText = (names: readonly string[]): string =>
  names.length === 0
    ? "No credentials are stored yet."
    : `Credentials on hand, by name: ${names.join(", ")}.`;

/** Returns the message with the user's change to a plan, and with the plan. */
export function modification({ workflow, text }: { workflow: Workflow; text: string }): string {
  const { failure_policy, name, description, steps, trigger } = workflow;
  const plain = steps.map((step) => ({ ...step, position: undefined }));
  const plan = { name, description, trigger, steps: plain, failure_policy };
  return `${text}${changeNote}${JSON.stringify(plan, null, 2)}`;
}

const changeNote =
  "\n\nThis is a change of the plan below. Call create_workflow with the whole new plan. Keep what the change does not concern word for word, ids too.\n\n";

/** Returns the user's own part of a text that was sent to the model. */
export const wishIn = (text: string): string => text.split(changeNote)[0] ?? "";

import { useState } from "react";
import { count, duration } from "../../lib/format.ts";
import { previewOf } from "../../lib/json-nodes.ts";
import { Button, Copy } from "../../ui/button.tsx";
import { jsonOf } from "../../ui/json-search.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Section } from "../../ui/section.tsx";
import { groupsOf, type ToolCall, type TurnGroup } from "./parts.ts";
import { Shown } from "./shown.tsx";
import { RowState } from "./row-state.tsx";

/** Maximum number of groups of turns shown at once. Earlier groups are shown on demand. */
const mostGroups = 40;

type Props = { turns: Parameters<typeof groupsOf>[0]; isRunning: boolean };

/** The thoughts, texts and tool calls of an agent, in order. */
export function Conversation({ turns, isRunning }: Props) {
  const [isWhole, setWhole] = useState(false);
  const all = groupsOf(turns);
  const groups = isWhole ? all : all.slice(-mostGroups);
  return (
    <>
      {groups.length < all.length && (
        <div>
          <Button small onClick={() => setWhole(true)}>
            Show {count(all.length - groups.length)} earlier turns
          </Button>
        </div>
      )}
      {groups.map((group) => (
        <Group key={group.at} group={group} isGrowing={isRunning && group === groups.at(-1)} />
      ))}
    </>
  );
}

function Group({ group, isGrowing }: { group: TurnGroup; isGrowing: boolean }) {
  if (group.kind === "tools") {
    return (
      <ul className="divide-y rounded-md border" aria-label="Tool calls">
        {group.calls.map((call, index) => (
          <ToolItem key={index} call={call} />
        ))}
      </ul>
    );
  }
  const prose = <Prose text={group.text} isGrowing={isGrowing} isMarkdown />;
  if (group.kind === "text") return prose;
  return (
    <details className="text-muted" open={isGrowing}>
      <summary className="truncate text-small max-sm:leading-10">
        Thinking: {oneLine(group.text)}
      </summary>
      <div className="border-l-2 pt-1 pl-3">{prose}</div>
    </details>
  );
}

const oneLine = (text: string): string => text.slice(0, 140).replace(/\s+/g, " ");

function ToolItem({ call }: { call: ToolCall }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="min-w-0">
      <button
        type="button"
        className="flex min-h-9 w-full cursor-pointer items-center gap-2 px-3 text-left -outline-offset-2 hover:bg-hover max-sm:min-h-10"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <RowState status={call.status} />
        <code className="font-semibold">{call.name}</code>
        <code className="min-w-0 flex-1 truncate text-faint">{previewOf(call.input)}</code>
        {call.continued && <span className="text-small text-faint">continued</span>}
        {call.endedAt !== null && (
          <span className="text-small text-faint">{duration(call.endedAt - call.at)}</span>
        )}
      </button>
      {isOpen && (
        <div className="flex flex-col gap-3 border-t px-3 py-2">
          <Part title="Input" value={call.input} />
          <Messages of={call.messages} />
          {"output" in call && <Part title="Output" value={call.output} />}
        </div>
      )}
    </li>
  );
}

function Part({ title, value }: { title: string; value: unknown }) {
  return (
    <section className="flex min-w-0 flex-col gap-1">
      <h4 className="flex items-center gap-1 text-small font-semibold text-muted">
        {title}
        <Copy text={() => jsonOf(value)} what={`the ${title.toLowerCase()}`} />
      </h4>
      <Shown value={value} name={title} />
    </section>
  );
}

function Messages({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <ul className="text-small text-muted" aria-label="Messages">
      {of.map((message, line) => (
        <li key={line} className="wrap-anywhere">
          {message}
        </li>
      ))}
    </ul>
  );
}

/** A tool call: its exact input and its output. */
export function ToolDetail({ call }: { call: ToolCall }) {
  const output = "output" in call ? { value: call.output } : null;
  return (
    <>
      <Section
        name="tool/input"
        title="Input"
        isOpen
        actions={<Copy text={() => jsonOf(call.input)} what="the input" />}
      >
        {() => <Shown value={call.input} name="Input" />}
      </Section>
      {call.messages.length > 0 && (
        <Section name="tool/messages" title="Messages" isOpen>
          {() => <Messages of={call.messages} />}
        </Section>
      )}
      {output && (
        <Section
          name="tool/output"
          title={call.status === "failed" ? "Error" : "Output"}
          note={call.continued && "The step continued."}
          isOpen
          actions={<Copy text={() => jsonOf(output.value)} what="the output" />}
        >
          {() => <Shown value={output.value} name="Output" />}
        </Section>
      )}
    </>
  );
}

import { CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import type { ToolCall } from "../activity/activity.ts";
import { Prose } from "../value/prose.tsx";
import { Value } from "../value/value.tsx";
import styles from "./tools.module.css";

/** The tools that a step called, each with what it was given and what it gave. */
export function Tools({ tools, isRunning }: { tools: readonly ToolCall[]; isRunning: boolean }) {
  return (
    <ul className={styles.tools}>
      {tools.map((tool, index) => (
        <li key={index} className={tool.isError ? styles.failed : undefined}>
          <div className={styles.head}>
            <ToolState tool={tool} isRunning={isRunning} />
            <code>{tool.name}</code>
          </div>
          <div className={styles.value}>
            <Value value={tool.input} />
          </div>
          {tool.notes.length > 0 && (
            <ul className={styles.notes}>
              {tool.notes.map((note, line) => (
                <li key={line}>{note}</li>
              ))}
            </ul>
          )}
          {tool.isDone && (
            <div className={styles.output}>
              {typeof tool.output === "string" ? (
                <Prose text={tool.output} />
              ) : (
                <Value value={tool.output} />
              )}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function ToolState({ tool, isRunning }: { tool: ToolCall; isRunning: boolean }) {
  if (tool.isError) return <CircleX aria-label="failed" className={styles.bad} />;
  if (tool.isDone) return <CircleCheck aria-label="done" className={styles.good} />;
  return isRunning ? <LoaderCircle aria-label="at work" className={styles.busy} /> : null;
}

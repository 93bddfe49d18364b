import type { ComponentProps, ReactNode } from "react";
import { isTruncated } from "../lib/values.ts";
import { FileValue, JsonTree } from "./json-tree.tsx";
import { LongText } from "./prose.tsx";
import { Whole } from "./whole.tsx";
import { filePathOf } from "../lib/values.ts";

type Props = {
  value: unknown;
  name?: string;
};

/** A value: a text unchanged, other values as a tree. Loads truncated values in full. */
export function Value({ value, name = "Value" }: Props) {
  const path = filePathOf(value);
  if (path !== null) return <FileValue path={path} />;
  if (isTruncated(value)) {
    return <Whole value={value}>{(full) => <Value value={full} name={name} />}</Whole>;
  }
  if (typeof value === "string") {
    return (
      <div className="anywhere">
        <LongText text={value || "“”"} />
      </div>
    );
  }
  if (typeof value === "object" && value !== null) return <JsonTree value={value} name={name} />;
  return <code className="code">{String(value)}</code>;
}

type ValuesProps = { values: Readonly<Record<string, unknown>>; name?: string };

export function Values({ values, name = "Values" }: ValuesProps) {
  if (Object.keys(values).length === 0) return <Nothing>No values.</Nothing>;
  return <JsonTree value={values} name={name} />;
}

export function Nothing({ children }: { children: ReactNode }) {
  return <p className="text-faint">{children}</p>;
}

export const Pre = ({ className = "", ...rest }: ComponentProps<"pre">) => (
  <pre
    tabIndex={0}
    {...rest}
    className={`max-h-80 overflow-auto rounded-md bg-sunken px-3 py-2 text-small ${className}`}
  />
);

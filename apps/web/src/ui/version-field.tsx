import { moment } from "../lib/format.ts";
import { SelectField } from "./field.tsx";

type Props = {
  label: string;
  /** The hash of the chosen version; empty for none. */
  value: string;
  hint?: string;
  versions: readonly { hash: string; timestamp: number; current?: boolean }[];
  /** The text of the choice of no version. */
  none?: string;
  onChange: (hash: string) => void;
};

/** A choice of a workflow's version. */
export const VersionField = ({ versions, none, onChange, ...field }: Props) => (
  <SelectField {...field} onChange={({ target }) => onChange(target.value)}>
    {none !== undefined && <option value="">{none}</option>}
    {field.value !== "" && !versions.some(({ hash }) => hash === field.value) && (
      <option>{field.value}</option>
    )}
    {versions.map(({ hash, timestamp, current }) => (
      <option key={hash} value={hash}>
        {hash}, {moment(timestamp)}
        {current && " (current)"}
      </option>
    ))}
  </SelectField>
);

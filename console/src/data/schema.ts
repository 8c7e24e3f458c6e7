// JSON Schemas of settings, as far as forms show them. What a form cannot show is edited as text, and the host judges all of it.

/** A schema. */
export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  maxLength?: number;
  $ref?: string;
  $defs?: Record<string, Schema>;
};

/** How a value is edited. */
export type Field = "text" | "number" | "whole" | "yes-no" | "choice" | "object" | "list" | "json";

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === "object" && !Array.isArray(value);

/** A schema that may be none. */
export function schemaOf(value: unknown): Schema {
  return isObject(value) ? (value as Schema) : {};
}

/** The schema that a reference within the root leads to. */
export function resolved(schema: Schema, root: Schema): Schema {
  const name = /^#\/\$defs\/([^/]+)$/.exec(schema.$ref ?? "")?.[1];
  const found = name === undefined ? undefined : root.$defs?.[name];
  return found ? { ...found, ...Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$ref")) } : schema;
}

/** How a value of a schema is edited. */
export function fieldOf(schema: Schema): Field {
  if (schema.enum?.every((one) => typeof one === "string")) return "choice";
  switch (schema.type) {
    case "string":
      return "text";
    case "integer":
      return "whole";
    case "number":
      return "number";
    case "boolean":
      return "yes-no";
    case "object":
      return schema.properties ? "object" : "json";
    case "array":
      return schema.items ? "list" : "json";
    default:
      return schema.properties ? "object" : "json";
  }
}

/** What a form begins with where there is no value. */
export function beginning(schema: Schema, root: Schema): unknown {
  const of = resolved(schema, root);
  if (of.default !== undefined) return structuredClone(of.default);
  if (of.const !== undefined) return of.const;
  switch (fieldOf(of)) {
    case "choice":
      return of.enum?.[0];
    case "text":
      return "";
    case "whole":
    case "number":
      return of.minimum ?? 0;
    case "yes-no":
      return false;
    case "list":
      return [];
    case "object":
      return Object.fromEntries((of.required ?? []).map((key) => [key, beginning(of.properties?.[key] ?? {}, root)]));
    case "json":
      return of.type === "array" ? [] : {};
  }
}

/** An object with a member of another value, or without it. */
export function withMember(object: unknown, key: string, value: unknown): Record<string, unknown> {
  const members = isObject(object) ? object : {};
  if (value !== undefined) return { ...members, [key]: value };
  return Object.fromEntries(Object.entries(members).filter(([name]) => name !== key));
}

/** A number as it is typed. What is none yet stays text, so that one can go on typing. */
export function number(text: string): number | string {
  const value = Number(text);
  return text !== "" && String(value) === text ? value : text;
}

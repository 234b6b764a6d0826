// The scenario as a client of the TypeScript SDK goes through it, in its first or second version.
// It reads a plan on stdin (see plan.py) and prints what it was answered.
import { text } from "node:stream/consumers";

const plan = JSON.parse(await text(process.stdin));
const sdk = plan.version === 1 ? await firstVersion() : await secondVersion();

async function firstVersion() {
  const base = "@modelcontextprotocol/sdk/client";
  const { Client } = await import(`${base}/index.js`);
  return {
    client: (info) => new Client(info),
    call: (client, request, options) => client.callTool(request, undefined, options),
    protocol: () => negotiated,
    ...(await import(`${base}/stdio.js`)),
    ...(await import(`${base}/sse.js`)),
    ...(await import(`${base}/streamableHttp.js`)),
  };
}

async function secondVersion() {
  const base = "@modelcontextprotocol/client";
  const module = await import(base);
  return {
    client: (info) => new module.Client(info, { versionNegotiation: { mode: "auto" } }),
    call: (client, request, options) => client.callTool(request, options),
    protocol: (client) => client.getNegotiatedProtocolVersion(),
    SSEClientTransport: module.SSEClientTransport,
    StreamableHTTPClientTransport: module.StreamableHTTPClientTransport,
    ...(await import(`${base}/stdio`)),
  };
}

function openTransport() {
  if (plan.transport === "stdio") {
    const [command, ...args] = plan.command;
    return new sdk.StdioClientTransport({ command, args, env: plan.env });
  }
  const options = { requestInit: { headers: plan.headers } };
  return plan.transport === "sse"
    ? new sdk.SSEClientTransport(new URL(plan.url), options)
    : new sdk.StreamableHTTPClientTransport(new URL(plan.url), options);
}

async function callAll(client) {
  const answers = [];
  for (const { tool, arguments: given } of plan.calls) {
    const progress = [];
    const options = { onprogress: (one) => progress.push(one), timeout: plan.patience_s * 1000 };
    const result = await sdk.call(client, { name: tool, arguments: given }, options);
    answers.push({ ...result, progress });
  }
  return answers;
}

async function readAll(client, resources) {
  const contents = {};
  for (const { uri } of resources.slice(0, plan.most))
    contents[uri] = (await client.readResource({ uri })).contents;
  return contents;
}

async function promptAll(client, prompts) {
  const messages = {};
  for (const { name, arguments: wanted = [] } of prompts) {
    const given = Object.fromEntries(wanted.map((one) => [one.name, plan.words[one.name] ?? "1"]));
    messages[name] = (await client.getPrompt({ name, arguments: given })).messages;
  }
  return messages;
}

async function completeAll(client, templates, prompts) {
  const values = {};
  const complete = async (key, ref, name) => {
    const { completion } = await client.complete({ ref, argument: { name, value: "" } });
    values[`${key} ${name}`] = completion.values;
  };
  for (const { uriTemplate: uri } of templates)
    for (const [, names] of uri.matchAll(/\{[+?]?([\w,]+)\}/g))
      for (const name of names.split(",")) await complete(uri, { type: "ref/resource", uri }, name);
  for (const { name: prompt, arguments: wanted = [] } of prompts)
    for (const { name } of wanted) await complete(prompt, { type: "ref/prompt", name: prompt }, name);
  return values;
}

// The first version tells nobody but its transport which protocol was agreed on.
let negotiated;
function listenForProtocol(transport) {
  const pass = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    negotiated = version;
    pass?.(version);
  };
}

const client = sdk.client({ name: "conformance", version: "1" });
const transport = openTransport();
if (plan.version === 1) listenForProtocol(transport);
await client.connect(transport);
const { tools } = await client.listTools();
const answers = await callAll(client);
const { resources } = await client.listResources();
const { resourceTemplates: templates } = await client.listResourceTemplates();
const { prompts } = await client.listPrompts();
const report = {
  server: client.getServerVersion(),
  protocol: sdk.protocol(client),
  tools,
  answers,
  contents: await readAll(client, resources),
  messages: await promptAll(client, prompts),
  values: await completeAll(client, templates, prompts),
};
await client.close();
console.log(JSON.stringify(report));

--- `:Backstitch`: its subcommands, and the commands of lenses and code actions.
local completion = require('backstitch.commands.completion')
local names = require('backstitch.commands.names')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

---@class backstitch.Typed
---@field args string[]
---@field rest string What follows the name, as it was typed.
---@field bang boolean
---@field buf integer
---@field first integer
---@field last integer

---@class backstitch.Subcommand
---@field name string
---@field usage string Arguments after the name.
---@field desc string
---@field max_args? integer Unlimited by default.
---@field searches? boolean True if the arguments may be words after a slash, as many as there are.
---@field complete? ('rev'|'branch'|'turn'|'file'|'breakpoint'|'step'|'job'|'job_name'|'off')[] Kind of each argument; the last kind is that of all further arguments.
---@field run? async fun(typed: backstitch.Typed)
---@field ask? async fun(client: vim.lsp.Client, at: table<string, any>, typed: backstitch.Typed) For commands on the whole workspace: its server, and the parameters that name it.

---@type backstitch.Subcommand[]
M.SUBCOMMANDS = {}
vim.list_extend(M.SUBCOMMANDS, require('backstitch.commands.history').SUBCOMMANDS)
vim.list_extend(M.SUBCOMMANDS, require('backstitch.commands.calls').SUBCOMMANDS)
vim.list_extend(M.SUBCOMMANDS, require('backstitch.commands.jobs').SUBCOMMANDS)

M.fork, M.tag, M.pin = names.fork, names.tag, names.pin

--- Returns the root of the workspace. A document would limit some commands to that file.
---@async
---@param client vim.lsp.Client
---@param buf integer
---@return table<string, any>
local function workspace(client, buf)
  local params = vim.tbl_extend('force', server.where(client, buf), { limit = 1 })
  return { workspace = words.shown(server.request(client, 'backstitch/timeline', params).workspace) }
end

--- Runs `:Backstitch` with its arguments; without any it opens the timeline.
---@param typed vim.api.keyset.create_user_command.command_args
function M.run(typed)
  local args = vim.list_slice(typed.fargs, 2)
  local name = typed.fargs[1] or 'log'
  local subcommand = completion.named(M.SUBCOMMANDS, name)
  task.run(function()
    if not subcommand then
      task.fail({
        message = ("unknown subcommand '%s'"):format(name),
        hint = ':help :Backstitch lists them all',
      })
    end
    local is_search = subcommand.searches and vim.startswith(args[1] or '', '/')
    if subcommand.max_args and #args > subcommand.max_args and not is_search then
      task.fail({
        message = (":Backstitch %s: unexpected argument '%s'"):format(name, args[subcommand.max_args + 1]),
        hint = (':Backstitch %s %s'):format(name, subcommand.usage),
      })
    end
    local buf = vim.api.nvim_get_current_buf()
    local rest = vim.trim((typed.args:gsub('^%s*%S+', '')))
    local parsed = { args = args, rest = rest, bang = typed.bang, buf = buf, first = typed.line1, last = typed.line2 }
    if subcommand.run then
      return subcommand.run(parsed)
    end
    local client = server.client(buf)
    assert(subcommand.ask)(client, workspace(client, buf), parsed)
  end)
end

--- Returns completions at the cursor.
---@param word string The part that is typed already.
---@param line string
---@return string[]
function M.complete(word, line)
  return completion.complete(M.SUBCOMMANDS, word, line)
end

--- Runs a command of a lens or a code action with its arguments.
---@param name string
---@param arguments table
---@param ctx { client_id: integer, bufnr?: integer }
function M.from_server(name, arguments, ctx)
  task.run(function()
    local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
    local verbs = { rewind = true, revert = true, undo = true, redo = true, switch = true }
    local is_named = arguments.rev or arguments.turn or arguments.step or name == 'undo' or name == 'redo'
    if verbs[name] and is_named then
      return require('backstitch.restore').run(client, name --[[@as backstitch.Verb]], arguments)
    elseif name == 'fork' and arguments.rev then
      return M.fork(client, arguments)
    elseif name == 'tag' and arguments.rev then
      return M.tag(client, arguments)
    elseif name == 'pin' then
      return M.pin(client, arguments)
    elseif name == 'diff' and arguments.rev and arguments.uri and not arguments.rev2 then
      local buf = vim.uri_to_bufnr(arguments.uri)
      vim.fn.bufload(buf)
      return require('backstitch.review').start(buf, arguments.rev)
    elseif name == 'timeline' then
      local at = workspace(client, ctx.bufnr or 0)
      return require('backstitch.timeline').open(client, at, arguments.uri and { uri = arguments.uri } or {})
    elseif name == 'review' then
      return require('backstitch.unreviewed').open(client, workspace(client, ctx.bufnr or 0))
    end
    local result = server.execute(client, 'backstitch.' .. name, arguments)
    if name == 'checkpoint' and type(result) == 'table' and result.id then
      require('backstitch.notice').say(('backstitch: checkpoint %s'):format(result.id))
    end
  end)
end

return M

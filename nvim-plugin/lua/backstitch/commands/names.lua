--- Branches, tags and pins: made by a command, and reported.
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

--- Creates a branch. Asks for its name if none is given.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; rev, name, into
function M.fork(client, arguments)
  if not arguments.name then
    arguments.name = task.input({ prompt = ('Branch from %s: '):format(arguments.rev or 'now') })
  end
  arguments = vim.tbl_extend('force', arguments, { confirm = false })
  ---@type backstitch.ForkResult
  local forked = server.execute(client, 'backstitch.fork', arguments)
  require('backstitch.conversation').report(forked.conversation)
  local into = forked.into and ' in ' .. words.shown(forked.into) or ''
  local next_step = into == '' and ('; :Backstitch switch %s switches to it'):format(forked.branch.name) or ''
  require('backstitch.notice').say(('backstitch: created branch %s%s%s'):format(forked.branch.name, into, next_step))
end

--- Tags a state. Asks for the tag if none is given.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; rev, name
function M.tag(client, arguments)
  if not arguments.name then
    arguments.name = task.input({ prompt = ('Tag for %s: '):format(arguments.rev or 'now') })
  end
  ---@type backstitch.TagResult
  local tagged = server.execute(client, 'backstitch.tag', arguments)
  require('backstitch.notice').say(('backstitch: tagged %s as %s'):format(tagged.checkpoint, tagged.tag))
end

--- Pins or unpins a checkpoint.
---@async
---@param client vim.lsp.Client
---@param arguments table workspace or uri; rev, pinned
function M.pin(client, arguments)
  ---@type backstitch.PinResult
  local done = server.execute(client, 'backstitch.pin', arguments)
  require('backstitch.notice').say(
    ('backstitch: %s is %s'):format(done.checkpoint, done.pinned and 'pinned' or 'no longer pinned')
  )
end

return M
